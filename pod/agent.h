/*
 * agent.h - the first process of a pod
 *
 * The agent reaps processes and serves srun. In the first pod it also runs the
 * script, and assigns to each step its resources in the pods. In each pod it
 * runs the tasks that a step has there.
 */
#ifndef POD_AGENT_H
#define POD_AGENT_H

/*
 * The file with the container's last message, and a variable with which tests
 * name another file. Lines about steps in it begin with POD_LAST_STEP (which is
 * KUBE_LAST_STEP of aischedd/run/kube/object/init.h), and are in the format of
 * the shepherd's record.
 */
#define POD_LAST_FILE "/dev/termination-log"
#define POD_LAST_VAR  "AISCHED_POD_LAST"
#define POD_LAST_STEP "aisched: step: "

/* Run the agent. argv is the command that runs the script, which only the first
 * pod does. Returns the exit status of the pod. */
int pod_agent(char *const *argv);

#endif
