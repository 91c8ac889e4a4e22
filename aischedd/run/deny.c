/* deny.c - forbid the processes of a cgroup to open devices */
#include "aischedd/run/deny.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libcommon/mem.h"

enum { MAX_INSNS = DENY_LISTS * (DENY_MOST + 2) + 6 };

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* Returns a jump to instruction `to`, taken if the register has this value. */
static struct bpf_insn jump_if(uint8_t reg, int32_t value, uint32_t from,
                               uint32_t to)
{
	return (struct bpf_insn){ .code = BPF_JMP | BPF_JEQ | BPF_K,
		                  .dst_reg = reg,
		                  .off = (int16_t)(to - from - 1),
		                  .imm = value };
}

/* Write instructions that jump to `deny` or to `allow` for a device of the
 * list, and go on behind them for any other. Returns where they end. */
static uint32_t write_list(struct bpf_insn *to, uint32_t at,
                           const struct device_list *list, uint32_t allow,
                           uint32_t deny)
{
	uint32_t hit = list->all_but ? allow : deny;
	uint32_t miss = list->all_but ? deny : allow;

	to[at] = (struct bpf_insn){ .code = BPF_JMP | BPF_JNE | BPF_K,
		                    .dst_reg = 2,
		                    .off = (int16_t)(list->n + 1),
		                    .imm = (int32_t)list->major };
	at++;
	for (uint32_t i = 0; i < list->n; i++, at++)
		to[at] = jump_if(3, list->minor[i], at, hit);
	to[at] = (struct bpf_insn){ .code = BPF_JMP | BPF_JA,
		                    .off = (int16_t)(miss - at - 1) };
	return at + 1;
}

/* Write a program that denies these devices. It uses r1 for the request, r2 for
 * the device's major number, r3 for its minor number, r0 for the result. */
static uint32_t write_program(struct bpf_insn *to,
                              const struct device_list *list, size_t n)
{
	const struct bpf_insn head[] = {
		{ .code = BPF_LDX | BPF_MEM | BPF_W,
		  .dst_reg = 2,
		  .src_reg = 1,
		  .off = offsetof(struct bpf_cgroup_dev_ctx, major) },
		{ .code = BPF_LDX | BPF_MEM | BPF_W,
		  .dst_reg = 3,
		  .src_reg = 1,
		  .off = offsetof(struct bpf_cgroup_dev_ctx, minor) },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 1 },
	};
	const struct bpf_insn tail[] = {
		{ .code = BPF_JMP | BPF_JA, .off = 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	uint32_t at = ARRAY_SIZE(head), end = at;

	for (size_t i = 0; i < n; i++)
		end += list[i].n + 2;
	memcpy(to, head, sizeof(head));
	for (size_t i = 0; i < n; i++)
		at = write_list(to, at, &list[i], end, end + 1);
	memcpy(to + at, tail, sizeof(tail));
	return at + (uint32_t)ARRAY_SIZE(tail);
}

/* Load the program into the kernel. Returns its descriptor, or -1. */
static int load(const struct device_list *list, size_t n)
{
	struct bpf_insn insn[MAX_INSNS];
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insn_cnt = write_program(insn, list, n);
	attr.insns = address(insn);
	attr.license = address("GPL");
	return bpf(BPF_PROG_LOAD, &attr);
}

static int attach(int command, int group, int program)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)group;
	attr.attach_bpf_fd = (uint32_t)program;
	attr.attach_type = BPF_CGROUP_DEVICE;
	attr.attach_flags = command == BPF_PROG_ATTACH ? BPF_F_ALLOW_MULTI : 0;
	return bpf(command, &attr);
}

int deny_devices(const char *dir, const struct device_list *list, size_t n,
                 int *program)
{
	int group = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int loaded, status, why;

	loaded = n ? load(list, n) : -1;
	status = group < 0 || (n && loaded < 0) ? -1 : 0;
	if (!status && n)
		status = attach(BPF_PROG_ATTACH, group, loaded);
	why = errno;
	if (status == 0) {
		int old = *program;

		*program = loaded;
		loaded = old;
		if (old >= 0)
			attach(BPF_PROG_DETACH, group, old);
	}
	if (loaded >= 0)
		close(loaded);
	if (group >= 0)
		close(group);
	errno = why;
	return status;
}

bool deny_works(void)
{
	static const struct device_list any = { .n = 1 };
	int program = load(&any, 1);

	if (program >= 0)
		close(program);
	return program >= 0;
}
