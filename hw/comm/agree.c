/*
 * Agreement before data: whose cards a run waits for.
 *
 * A rank takes messages only from ranks that run the same, so it needs the cards of those that send to it; letters bring
 * the digest of one along (letters.h). From ranks it only sends to it needs nothing but to know, in the end, that they
 * ran the same. While a program repeats a launch that all have agreed on, it waits for those cards some runs later: the
 * root of a row of small broadcasts need not stand still until everybody has begun the last one.
 */
#include "hw/comm/comm.h"

#include "ronde/hw.h"

/* Fruitless sweeps before the cards of letters' senders are looked at: whoever disagrees may never send one. */
#define PATIENCE 32u

/*
 * Whose own buffers are read waits for its readers in every run. Messages of other hosts are not counted in runs. Copies
 * that are kept last until all readers have read them.
 */
static uint32_t most_lead(const struct ronde_comm_program *program)
{
    const struct ronde_comm *comm = program->comm;
    const struct ronde_frame *frame = &program->loaded->frame;
    const uint32_t lead = ronde_comm_lead(comm->ranks);
    if (comm->transport != RONDE_TRANSPORT_PROC || program->drive ||
        ronde_frame_awaits_readers(frame))
        return 0;
    return frame->keeps && lead > RONDE_KEEP_RUNS - 2 ? RONDE_KEEP_RUNS - 2 : lead;
}

/*
 * Of such ranks' cards it looks at one in so many: each is a line that travels. A rank that ran something else in between
 * has found that out itself, as it compares every run with those that send to it.
 */
static uint32_t stride_of(const struct ronde_comm_program *program)
{
    return program->lead / 2 + 1;
}

/* Whether a rank that this one only sends to has come far enough. */
static bool is_near_enough(const struct ronde_comm_program *program,
                           const struct ronde_neighbour *neighbour)
{
    return neighbour->verified + program->lead >= program->card.sequence;
}

/* Turns to another program: what the last one has left open is seen to in its first run. */
static void change_program(struct ronde_comm_program *program)
{
    struct ronde_comm *comm = program->comm;
    comm->debtor = comm->previous;
    comm->previous = program;
    for (uint32_t n = 0; n < program->neighbour_count; n++)
        program->neighbours[n].verified = program->card.sequence - 1;
}

void ronde_agreement_begin(struct ronde_comm_program *program)
{
    const bool is_other = program->comm->previous != program;
    const bool may_lead =
        !is_other && !program->is_rearranged && program->card_digest == program->agreed_digest;
    if (is_other)
        change_program(program);
    program->lead = may_lead ? most_lead(program) : 0;
    program->agreed_digest = program->card_digest;
    program->doubted = NULL;
    program->sources_left = 0;
    program->others_left = 0;
    for (uint32_t n = 0; n < program->neighbour_count; n++) {
        struct ronde_neighbour *at = &program->neighbours[n];
        at->digest = program->digest;
        at->is_verified = !at->is_source && is_near_enough(program, at);
        program->sources_left += at->is_source;
        program->others_left += !at->is_source && !at->is_verified;
    }
}

bool ronde_agreement_is_reached(const struct ronde_comm_program *program)
{
    return program->sources_left == 0 && program->others_left == 0 && !program->doubted &&
           !program->comm->debtor;
}

/* Compares the next card of a rank that is wanted; SAME also where none is. */
static enum ronde_card_state catch_up(const struct ronde_comm_program *program,
                                      struct ronde_neighbour *at, struct ronde_error *why)
{
    const struct ronde_comm *comm = program->comm;
    const struct ronde_card *cards = &comm->near_cards[(size_t)comm->rank * RONDE_CARDS];
    const uint64_t last = program->card.sequence;
    const uint64_t far = at->verified + stride_of(program);
    const uint64_t next = far < last ? far : last;
    const struct ronde_card *mine = next == last ? &program->card : &cards[next % RONDE_CARDS];
    bool has_offers;
    if (at->verified == last)
        return RONDE_CARD_SAME;
    const enum ronde_card_state state = ronde_card_check(comm, at->rank, mine, &has_offers, why);
    if (state == RONDE_CARD_SAME)
        at->verified = next;
    return state;
}

/* A card that is not what it should be: nothing yet, a disagreement, or a rank that will never show it. */
static enum ronde_status judge(const struct ronde_comm *comm, uint32_t rank,
                               enum ronde_card_state state, struct ronde_error *why)
{
    if (state == RONDE_CARD_OTHER)
        return why->status;
    if (state == RONDE_CARD_ABSENT && ronde_star_has_left(comm->star, rank))
        return ronde_fail(why, RONDE_DEVICE, "rank %u has left the communicator", rank);
    return RONDE_OK;
}

/* Sees to what runs of an earlier program have left open. */
static enum ronde_status settle_debts(struct ronde_comm *comm, struct ronde_error *why)
{
    struct ronde_comm_program *debtor = comm->debtor;
    bool is_settled = true;
    for (uint32_t n = 0; n < debtor->neighbour_count; n++) {
        struct ronde_neighbour *at = &debtor->neighbours[n];
        if (at->is_source)
            continue;
        const enum ronde_card_state state = catch_up(debtor, at, why);
        const enum ronde_status status = judge(comm, at->rank, state, why);
        if (status != RONDE_OK)
            return status;
        is_settled &= at->verified == debtor->card.sequence;
    }
    if (is_settled)
        comm->debtor = NULL;
    return RONDE_OK;
}

/* Whether this rank looks for a neighbour's card: one that sends letters says the same in these. */
static bool asks_for_card(const struct ronde_comm_program *program,
                          const struct ronde_neighbour *neighbour)
{
    const bool is_believed = program->has_letters && !program->is_rearranged &&
                             program->doubted != neighbour && program->idle < PATIENCE;
    return !neighbour->is_verified && !(neighbour->is_source && is_believed);
}

/* What a rank with the same card but for its offers puts on its letters. */
static uint64_t digest_of(const struct ronde_comm_program *program, bool has_offers)
{
    struct ronde_card card = program->card;
    card.offers = has_offers;
    return ronde_card_digest_in_run(ronde_card_digest(&card), card.sequence);
}

/* Looks for the card of a rank that sends to this one. */
static enum ronde_status verify_source(struct ronde_comm_program *program,
                                       struct ronde_neighbour *at, struct ronde_error *why)
{
    bool has_offers = false;
    const enum ronde_card_state state =
        ronde_card_check(program->comm, at->rank, &program->card, &has_offers, why);
    if (state == RONDE_CARD_SAME) {
        at->is_verified = true;
        at->digest = digest_of(program, has_offers);
        program->doubted = program->doubted == at ? NULL : program->doubted;
        program->loaded->frame.has_offers |= has_offers;
        program->sources_left--;
    }
    return judge(program->comm, at->rank, state, why);
}

/* Looks for the cards of a rank that this one only sends to. */
static enum ronde_status verify_other(struct ronde_comm_program *program,
                                      struct ronde_neighbour *at, struct ronde_error *why)
{
    const enum ronde_card_state state = catch_up(program, at, why);
    if (is_near_enough(program, at)) {
        at->is_verified = true;
        program->others_left--;
    }
    return judge(program->comm, at->rank, state, why);
}

enum ronde_status ronde_agreement_seek(struct ronde_comm_program *program, struct ronde_error *why)
{
    const struct ronde_comm *comm = program->comm;
    enum ronde_status status = RONDE_OK;
    if (program->doubted && program->doubted->is_verified)
        return ronde_fail(
            why, RONDE_REJECTED,
            "ranks %u and %u disagree about what they run: %u has come to run %llu, %u "
            "sent it a message of another",
            comm->rank, program->doubted->rank, comm->rank,
            (unsigned long long)program->card.sequence, program->doubted->rank);
    if (comm->debtor)
        status = settle_debts(program->comm, why);
    for (uint32_t n = 0; n < program->neighbour_count && status == RONDE_OK; n++) {
        struct ronde_neighbour *at = &program->neighbours[n];
        if (asks_for_card(program, at))
            status =
                at->is_source ? verify_source(program, at, why) : verify_other(program, at, why);
    }
    return status;
}

void ronde_agreement_drop(struct ronde_comm_program *program)
{
    struct ronde_comm *comm = program->comm;
    if (comm->previous == program)
        comm->previous = NULL;
    if (comm->debtor == program)
        comm->debtor = NULL;
}
