/* Staying beside the program: `cutout run` with --record. */
#ifndef CUTOUT_SHIM_TOOL_PARENT_H
#define CUTOUT_SHIM_TOOL_PARENT_H

#include <sys/types.h>

/* Starts `become(argument)` in a child, passes on the signals that are sent to this process, and calls step(context) at
 * least every 50 ms until the child has ended. Returns the child's wait status, or -1 with the error reported. What a
 * terminal sends goes to the whole foreground group, so it is not passed on a second time. */
int parent_run(int (*become)(void *argument), void *argument, void (*step)(void *context), void *context);

/* Ends as the child did: returns its exit status, or kills this process by the same signal. */
int parent_end(int status);

#endif
