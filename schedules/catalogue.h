/** The functions of the algorithms, one file each; registry.c puts them into its table. */
#ifndef RONDE_SCHEDULES_CATALOGUE_H
#define RONDE_SCHEDULES_CATALOGUE_H

#include "ronde/schedules.h"

/* all_reduce_ring.c */
void ronde_all_reduce_ring_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_ring_price(const struct ronde_request *request,
                                               const struct ronde_load *load,
                                               const struct ronde_network *network);

/* all_reduce_tree.c */
void ronde_all_reduce_tree_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_tree_price(const struct ronde_request *request,
                                               const struct ronde_load *load,
                                               const struct ronde_network *network);

/* all_reduce_double_tree.c */
void ronde_all_reduce_double_tree_build(const struct ronde_request *request,
                                        struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_double_tree_price(const struct ronde_request *request,
                                                      const struct ronde_load *load,
                                                      const struct ronde_network *network);

/* all_reduce_recursive_doubling.c */
enum ronde_status ronde_all_reduce_recursive_doubling_supports(const struct ronde_request *request,
                                                               struct ronde_error *why_not);
void ronde_all_reduce_recursive_doubling_build(const struct ronde_request *request,
                                               struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_recursive_doubling_price(const struct ronde_request *request,
                                                             const struct ronde_load *load,
                                                             const struct ronde_network *network);

/* reduce_scatter_ring.c */
void ronde_reduce_scatter_ring_build(const struct ronde_request *request,
                                     struct ronde_builder *builder);
struct ronde_price ronde_reduce_scatter_ring_price(const struct ronde_request *request,
                                                   const struct ronde_load *load,
                                                   const struct ronde_network *network);

/* all_gather_ring.c */
void ronde_all_gather_ring_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_all_gather_ring_price(const struct ronde_request *request,
                                               const struct ronde_load *load,
                                               const struct ronde_network *network);

/* broadcast_binomial.c */
void ronde_broadcast_binomial_build(const struct ronde_request *request,
                                    struct ronde_builder *builder);
struct ronde_price ronde_broadcast_binomial_price(const struct ronde_request *request,
                                                  const struct ronde_load *load,
                                                  const struct ronde_network *network);

#endif
