/** Which positions pair up where the ranks are no power of two. */
#include "fold.h"

#include "closed_form.h"

struct ronde_fold ronde_fold_of(uint32_t ranks)
{
    const uint32_t members = 1u << ronde_log2_floor(ranks);
    return (struct ronde_fold){.members = members, .extras = ranks - members};
}

uint32_t ronde_fold_position(struct ronde_fold fold, uint32_t member)
{
    return member < fold.extras ? 2 * member + 1 : member + fold.extras;
}

uint32_t ronde_fold_first(struct ronde_fold fold, uint32_t member)
{
    return member < fold.extras ? 2 * member : member + fold.extras;
}

struct ronde_operand ronde_fold_blocks(struct ronde_fold fold, enum ronde_buffer buffer,
                                       uint32_t first, uint32_t count)
{
    const uint32_t block = ronde_fold_first(fold, first);
    return ronde_chunks(buffer, block, ronde_fold_first(fold, first + count) - block);
}

uint32_t ronde_fold_speakers(struct ronde_fold fold)
{
    return fold.extras > 0 ? fold.members : 1;
}
