/* cutout doctor, of a process that runs. */
#ifndef CUTOUT_SHIM_TOOL_DOCTOR_H
#define CUTOUT_SHIM_TOOL_DOCTOR_H

#include <stdint.h>

/* Prints what is known of the process. TOOL_YES when it is protected, TOOL_NO when not, in part, or when it cannot be
 * looked at, which is reported. */
int doctor_process(uint32_t pid);

/* The same of the process and all that it has started: TOOL_YES when all are protected. */
int doctor_tree(uint32_t pid);

#endif
