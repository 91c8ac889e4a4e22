/*
 * job_fields.h - the fields of jobs in listings
 *
 * The names are those of the protocol, and of `aiq --json`. The daemon writes
 * the fields (aischedd/read/listing_job.c); aiq requests them for its columns,
 * and for `aiq JOB`, which describes one job.
 */
#ifndef LIBCOMMON_JOB_FIELDS_H
#define LIBCOMMON_JOB_FIELDS_H

/* X(name, whether `aiq --json` shows it by default, whether `aiq JOB` does) */
#define JOB_FIELDS(X)                    \
	X(job_id, true, true)            \
	X(array_job_id, true, true)      \
	X(array_task_id, true, false)    \
	X(name, true, true)              \
	X(user, true, true)              \
	X(queue, true, true)             \
	X(class, true, true)             \
	X(state, true, true)             \
	X(reason, true, true)            \
	X(reason_text, true, true)       \
	X(priority, true, true)          \
	X(tasks, true, true)             \
	X(min_tasks, true, true)         \
	X(running_tasks, true, true)     \
	X(resources, true, true)         \
	X(nodes, true, true)             \
	X(submit_time, true, true)       \
	X(eligible_time, true, true)     \
	X(start_time, true, true)        \
	X(end_time, true, true)          \
	X(expected_start, true, true)    \
	X(time_limit, true, true)        \
	X(exit_code, true, true)         \
	X(signal, true, true)            \
	X(restarts, true, true)          \
	X(preemptions, true, true)       \
	X(replaced_tasks, true, true)    \
	X(workdir, true, true)           \
	X(output, true, true)            \
	X(account, true, true)           \
	X(comment, true, true)           \
	X(labels, true, true)            \
	X(ports, true, true)             \
	X(mail_type, true, true)         \
	X(mail_user, true, true)         \
	X(cpu_seconds, true, true)       \
	X(peak_mem_mib, true, true)      \
	X(attempt, true, true)           \
	X(dependency, true, true)        \
	X(position, true, true)          \
	X(score, true, true)             \
	X(elapsed_ms, true, true)        \
	X(acts, true, true)              \
	X(held_cpu_seconds, true, true)  \
	X(held_gpu_seconds, true, true)  \
	X(gpu_busy_seconds, true, true)  \
	X(gpu_known_seconds, true, true) \
	X(gpu_util, true, true)          \
	X(gpu_mem_mib, true, true)       \
	X(gpu_mem_total_mib, true, true) \
	X(attempts, true, true)          \
	X(longest_ms, false, false)      \
	X(cron_id, true, true)           \
	X(cron_time, true, true)         \
	X(pool, true, false)             \
	X(namespace, false, true)        \
	X(cost, true, false)             \
	X(display_id, false, true)       \
	X(state_letter, false, false)    \
	X(nodelist, false, true)         \
	X(where, false, false)           \
	X(cpus, false, false)            \
	X(mem_mib, false, false)         \
	X(gpus, false, false)            \
	X(alloc_cpus, false, false)      \
	X(alloc_mem_mib, false, false)   \
	X(num_nodes, false, true)        \
	X(elapsed, false, true)          \
	X(time, false, false)            \
	X(limit, false, true)            \
	X(begin_time, false, true)       \
	X(deadline, false, true)         \
	X(error, false, true)            \
	X(input, false, true)            \
	X(array_tasks, false, true)      \
	X(dependency_never, false, true) \
	X(kill_invalid, false, true)     \
	X(hold, false, false)            \
	X(requeue, false, true)          \
	X(max_restarts, false, true)     \
	X(on_task_failure, false, true)  \
	X(constraint, false, true)       \
	X(prefer, false, true)           \
	X(topology, false, true)         \
	X(spread, false, true)           \
	X(near, false, true)             \
	X(apart, false, true)            \
	X(tmp_mib, false, true)          \
	X(segment, false, true)          \
	X(numa, false, true)             \
	X(links, false, true)            \
	X(req_nodes, false, true)        \
	X(exclude, false, true)          \
	X(licenses, false, true)         \
	X(device, false, true)           \
	X(uid, false, false)             \
	X(submit_host, false, true)      \
	X(command, false, true)          \
	X(gid, false, false)             \
	X(nice, false, false)            \
	X(mem_per_node, false, false)    \
	X(mem_per_cpu, false, false)     \
	X(gpus_per_node, false, false)   \
	X(gpus_per_job, false, false)    \
	X(gpu_type, false, false)        \
	X(gpu_memory_mib, false, true)   \
	X(exclusive, false, false)       \
	X(reservation, false, false)     \
	X(batch_host, false, false)      \
	X(time_left, false, false)       \
	X(allocation, false, false)      \
	X(shared_tasks, false, false)    \
	X(devices, false, true)          \
	X(asked, false, false)           \
	X(gpu_idle_seconds, false, true)

#endif
