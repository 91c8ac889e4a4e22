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

enum { MAX_INSNS = LIMIT_GPUS + 7 };

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* Write a program that denies these devices. It uses r1 for the request, r2 for
 * the device's major number, r3 for its minor number, r0 for the result. */
static uint32_t write_program(struct bpf_insn *to,
                              const struct device_list *devices)
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
		{ .code = BPF_JMP | BPF_JNE | BPF_K,
		  .dst_reg = 2,
		  .off = (int16_t)(devices->n + 2),
		  .imm = (int32_t)devices->major },
	};
	const struct bpf_insn tail[] = {
		{ .code = BPF_JMP | BPF_JA, .off = 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	uint32_t n = ARRAY_SIZE(head);

	memcpy(to, head, sizeof(head));
	for (uint32_t i = 0; i < devices->n; i++)
		to[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_JEQ | BPF_K,
			                     .dst_reg = 3,
			                     .off = (int16_t)(devices->n - i),
			                     .imm = devices->minor[i] };
	memcpy(to + n, tail, sizeof(tail));
	return n + (uint32_t)ARRAY_SIZE(tail);
}

/* Load the program into the kernel. Returns its descriptor, or -1. */
static int load(const struct device_list *devices)
{
	struct bpf_insn insn[MAX_INSNS];
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insn_cnt = write_program(insn, devices);
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

int deny_devices(const char *dir, const struct device_list *devices,
                 int *program)
{
	int group = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int loaded, status, why;

	loaded = devices->n ? load(devices) : -1;
	status = group < 0 || (devices->n && loaded < 0) ? -1 : 0;
	if (!status && devices->n)
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
	const struct device_list any = { .n = 1 };
	int program = load(&any);

	if (program >= 0)
		close(program);
	return program >= 0;
}
