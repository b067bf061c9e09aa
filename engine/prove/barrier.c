/**
 * Sets of arrived ranks, one bit each, joined along lanes, dependencies and messages.
 *
 * The set of a step is all ranks whose first step precedes its end: its own, those of the step before it in its lane,
 * of its dependencies, and of the message it receives. A barrier is right where the sets of a rank's last steps
 * together hold all ranks. On the quotient a message was sent by position 0; its set is turned by the offset it has
 * travelled. Exact, and as large as it sounds: ranks / 8 bytes for each step and message, so there is a limit, beyond
 * which the barrier counts as not proved.
 */
#include "proofs.h"

#include <string.h>

/** Most bytes the sets of all steps and messages may take. */
#define MAX_SET_BYTES ((uint64_t)1 << 30)

/** The walk. */
struct arrivals {
    const struct ronde_schedule *schedule;
    const struct ronde_model *model;
    size_t words;       /**< of a set */
    uint64_t *steps;    /**< per step of all actors */
    uint64_t *messages; /**< per message */
    uint64_t *moved;    /**< room for one set */
    uint32_t *passed;   /**< per end */
};

static void join(uint64_t *set, const uint64_t *other, size_t words)
{
    for (size_t i = 0; i < words; i++)
        set[i] |= other[i];
}

static void insert(uint64_t *set, uint32_t rank)
{
    set[rank / 64] |= (uint64_t)1 << (rank % 64);
}

static bool contains(const uint64_t *set, uint32_t rank)
{
    return (set[rank / 64] >> (rank % 64) & 1) != 0;
}

/** What a message carries; in the quotient, position 0's own set seen from the sender `offset` away. */
static const uint64_t *carried(const struct arrivals *arrivals, const uint64_t *message,
                               uint32_t offset)
{
    if (!arrivals->model->is_quotient)
        return message;
    memset(arrivals->moved, 0, arrivals->words * sizeof *arrivals->moved);
    for (uint32_t rank = 0; rank < arrivals->schedule->ranks; rank++)
        if (contains(message, rank))
            insert(arrivals->moved, ronde_group_add(arrivals->schedule, rank, offset));
    return arrivals->moved;
}

static void visit(struct arrivals *arrivals, struct ronde_event event)
{
    const struct ronde_model *model = arrivals->model;
    const struct ronde_view view = ronde_model_view(model, event.actor);
    const struct ronde_program *program = view.program;
    const struct ronde_step *step = &program->steps[event.step];
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    const size_t words = arrivals->words;
    uint64_t *mine = arrivals->steps + (size_t)model->step_base[event.actor] * words;
    uint64_t *set = mine + event.step * words;
    insert(set, view.position);
    if (event.step > program->lane_first[ronde_program_lane(program, event.step)])
        join(set, set - words, words);
    for (uint32_t i = 0; i < step->dependency_count; i++)
        join(set, mine + program->dependencies[step->first_dependency + i] * words, words);
    if (ronde_step_receives(op)) {
        const uint32_t end = model->end_base[event.actor] + step->receive;
        const uint32_t message = model->message_base[model->partner[end]] + arrivals->passed[end]++;
        join(set,
             carried(arrivals, arrivals->messages + message * words,
                     program->connections[step->receive].peer),
             words);
    }
    if (ronde_step_sends(op)) {
        const uint32_t end = model->end_base[event.actor] + step->send;
        const uint32_t message = model->message_base[end] + arrivals->passed[end]++;
        memcpy(arrivals->messages + message * words, set, words * sizeof *set);
    }
}

/** A rank whose arrival does not precede the end of all lanes of this one, or RONDE_NONE. */
static uint32_t first_unknown(const struct arrivals *arrivals, uint32_t actor)
{
    const struct ronde_model *model = arrivals->model;
    const struct ronde_program *program = ronde_model_view(model, actor).program;
    uint64_t *all = arrivals->moved;
    memset(all, 0, arrivals->words * sizeof *all);
    insert(all, actor);
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const size_t last = model->step_base[actor] + program->lane_first[lane + 1] - (size_t)1;
        join(all, arrivals->steps + last * arrivals->words, arrivals->words);
    }
    for (uint32_t rank = 0; rank < arrivals->schedule->ranks; rank++)
        if (!contains(all, rank))
            return rank;
    return RONDE_NONE;
}

static bool make_sets(struct arrivals *arrivals, struct ronde_arena *arena)
{
    const struct ronde_model *model = arrivals->model;
    const size_t words = arrivals->words;
    arrivals->steps =
        ronde_arena_new(arena, model->step_base[model->actors] * words, sizeof *arrivals->steps);
    arrivals->messages =
        ronde_arena_new(arena, model->message_count * words, sizeof *arrivals->messages);
    arrivals->moved = ronde_arena_new(arena, words, sizeof *arrivals->moved);
    arrivals->passed =
        ronde_arena_new(arena, model->end_base[model->actors], sizeof *arrivals->passed);
    return arrivals->steps && arrivals->messages && arrivals->moved && arrivals->passed;
}

static void judge(const struct arrivals *arrivals, struct ronde_proof *proof)
{
    for (uint32_t actor = 0; actor < arrivals->model->actors; actor++) {
        const uint32_t unknown = first_unknown(arrivals, actor);
        if (unknown != RONDE_NONE)
            ronde_find(proof, RONDE_FINDING_WRONG_VALUE,
                       (struct ronde_step_location){NULL, actor, RONDE_NONE, RONDE_NONE},
                       "leaves the barrier before rank %u is known to have entered", unknown);
    }
}

enum ronde_status ronde_prove_barrier(const struct ronde_schedule *schedule,
                                      const struct ronde_model *model, struct ronde_proof *proof,
                                      struct ronde_error *error)
{
    struct arrivals arrivals = {.schedule = schedule,
                                .model = model,
                                .words = (schedule->ranks + (size_t)63) / 64};
    const uint64_t sets = model->step_base[model->actors] + (uint64_t)model->message_count;
    if (sets * arrivals.words > MAX_SET_BYTES / sizeof(uint64_t)) {
        ronde_find(proof, RONDE_FINDING_NOT_PROVED,
                   (struct ronde_step_location){NULL, RONDE_NONE, RONDE_NONE, RONDE_NONE},
                   "%llu sets of %u ranks are too many", (unsigned long long)sets, schedule->ranks);
        return RONDE_OK;
    }
    proof->method = RONDE_PROOF_EXACT;
    struct ronde_arena *arena = ronde_arena_create(ronde_arena_mem(schedule->arena));
    const bool has_room = arena && make_sets(&arrivals, arena);
    for (uint32_t i = 0; has_room && i < model->step_base[model->actors]; i++)
        visit(&arrivals, model->order[i]);
    if (has_room)
        judge(&arrivals, proof);
    ronde_arena_destroy(arena);
    return has_room ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory to prove a barrier");
}
