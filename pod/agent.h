/*
 * agent.h - the first process of a pod
 *
 * It reaps, runs the script in the first pod, and hears srun: in the first pod
 * about room for steps, in each about tasks.
 */
#ifndef POD_AGENT_H
#define POD_AGENT_H

/* The last message of the container; another file, for tests. Lines of steps
 * have the words of the shepherd's record behind the mark, which
 * aischedd/run/kube/object/init.h knows, too. */
#define POD_LAST_FILE "/dev/termination-log"
#define POD_LAST_VAR  "AISCHED_POD_LAST"
#define POD_LAST_STEP "aisched: step: "

/* argv: the program that runs the script; only the first pod runs it. Returns
 * the exit status of the pod. */
int pod_agent(char *const *argv);

#endif
