/**
 * What UCX's library does to a program's signals when it is loaded.
 */
#ifndef RONDE_HW_UCX_SIGNALS_H
#define RONDE_HW_UCX_SIGNALS_H

/**
 * Gives back the signals that UCX has taken, unless the user has asked UCX for it by a variable of its own. Runs by
 * itself before main(); called again where UCX may have been loaded later.
 */
void ronde_ucx_return_signals(void);

#endif
