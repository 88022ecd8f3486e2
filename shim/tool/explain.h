/* cutout rules explain. */
#ifndef CUTOUT_SHIM_TOOL_EXPLAIN_H
#define CUTOUT_SHIM_TOOL_EXPLAIN_H

/* Prints which rule of the file covers the destination, and why; path NULL: of the built-in defaults. Returns the exit
 * status. */
int explain(const char *path, const char *destination);

#endif
