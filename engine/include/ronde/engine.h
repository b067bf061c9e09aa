/**
 * Everything the engine offers.
 */
#ifndef RONDE_ENGINE_H
#define RONDE_ENGINE_H

#include "ronde/backend.h"
#include "ronde/builder.h"
#include "ronde/cancel.h"
#include "ronde/collective.h"
#include "ronde/cursor.h"
#include "ronde/dag.h"
#include "ronde/ir.h"
#include "ronde/mem.h"
#include "ronde/price.h"
#include "ronde/quotient.h"
#include "ronde/split.h"
#include "ronde/status.h"
#include "ronde/text.h"

#endif
