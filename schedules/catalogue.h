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
void ronde_all_reduce_recursive_doubling_build(const struct ronde_request *request,
                                               struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_recursive_doubling_price(const struct ronde_request *request,
                                                             const struct ronde_load *load,
                                                             const struct ronde_network *network);

/* all_reduce_rabenseifner.c */
void ronde_all_reduce_rabenseifner_build(const struct ronde_request *request,
                                         struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_rabenseifner_price(const struct ronde_request *request,
                                                       const struct ronde_load *load,
                                                       const struct ronde_network *network);

/* all_reduce_hierarchical.c */
void ronde_all_reduce_hierarchical_build(const struct ronde_request *request,
                                         struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_hierarchical_price(const struct ronde_request *request,
                                                       const struct ronde_load *load,
                                                       const struct ronde_network *network);

/* all_reduce_hierarchical_direct.c */
void ronde_all_reduce_hierarchical_direct_build(const struct ronde_request *request,
                                                struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_hierarchical_direct_price(const struct ronde_request *request,
                                                              const struct ronde_load *load,
                                                              const struct ronde_network *network);

/* all_reduce_hierarchical_tree.c */
void ronde_all_reduce_hierarchical_tree_build(const struct ronde_request *request,
                                              struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_hierarchical_tree_price(const struct ronde_request *request,
                                                            const struct ronde_load *load,
                                                            const struct ronde_network *network);

/* all_reduce_hierarchical_direct_tree.c */
void ronde_all_reduce_hierarchical_direct_tree_build(const struct ronde_request *request,
                                                     struct ronde_builder *builder);
struct ronde_price
ronde_all_reduce_hierarchical_direct_tree_price(const struct ronde_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network);

/* all_reduce_torus.c */
void ronde_all_reduce_torus_build(const struct ronde_request *request,
                                  struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_torus_price(const struct ronde_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network);

/* all_reduce_direct.c */
void ronde_all_reduce_direct_build(const struct ronde_request *request,
                                   struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_direct_price(const struct ronde_request *request,
                                                 const struct ronde_load *load,
                                                 const struct ronde_network *network);

/* all_reduce_direct_one_step.c */
enum ronde_status ronde_all_reduce_direct_one_step_supports(const struct ronde_request *request,
                                                            struct ronde_error *why_not);
void ronde_all_reduce_direct_one_step_build(const struct ronde_request *request,
                                            struct ronde_builder *builder);
struct ronde_price ronde_all_reduce_direct_one_step_price(const struct ronde_request *request,
                                                          const struct ronde_load *load,
                                                          const struct ronde_network *network);

/* reduce_scatter_ring.c */
void ronde_reduce_scatter_ring_build(const struct ronde_request *request,
                                     struct ronde_builder *builder);
struct ronde_price ronde_reduce_scatter_ring_price(const struct ronde_request *request,
                                                   const struct ronde_load *load,
                                                   const struct ronde_network *network);

/* reduce_scatter_recursive_halving.c */
enum ronde_status ronde_reduce_scatter_recursive_halving_supports(const struct ronde_request *request,
                                                                  struct ronde_error *why_not);
void ronde_reduce_scatter_recursive_halving_build(const struct ronde_request *request,
                                                  struct ronde_builder *builder);
struct ronde_price ronde_reduce_scatter_recursive_halving_price(const struct ronde_request *request,
                                                                const struct ronde_load *load,
                                                                const struct ronde_network *network);

/* reduce_scatter_direct.c */
void ronde_reduce_scatter_direct_build(const struct ronde_request *request,
                                       struct ronde_builder *builder);
struct ronde_price ronde_reduce_scatter_direct_price(const struct ronde_request *request,
                                                     const struct ronde_load *load,
                                                     const struct ronde_network *network);

/* all_gather_ring.c */
void ronde_all_gather_ring_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_all_gather_ring_price(const struct ronde_request *request,
                                               const struct ronde_load *load,
                                               const struct ronde_network *network);

/* all_gather_recursive_doubling.c */
void ronde_all_gather_recursive_doubling_build(const struct ronde_request *request,
                                               struct ronde_builder *builder);
struct ronde_price ronde_all_gather_recursive_doubling_price(const struct ronde_request *request,
                                                             const struct ronde_load *load,
                                                             const struct ronde_network *network);

/* all_gather_bruck.c */
void ronde_all_gather_bruck_build(const struct ronde_request *request,
                                  struct ronde_builder *builder);
struct ronde_price ronde_all_gather_bruck_price(const struct ronde_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network);

/* all_gather_direct.c */
void ronde_all_gather_direct_build(const struct ronde_request *request,
                                   struct ronde_builder *builder);
struct ronde_price ronde_all_gather_direct_price(const struct ronde_request *request,
                                                 const struct ronde_load *load,
                                                 const struct ronde_network *network);

/* all_gather_hierarchical.c */
void ronde_all_gather_hierarchical_build(const struct ronde_request *request,
                                         struct ronde_builder *builder);
struct ronde_price ronde_all_gather_hierarchical_price(const struct ronde_request *request,
                                                       const struct ronde_load *load,
                                                       const struct ronde_network *network);

/* broadcast_binomial.c */
void ronde_broadcast_binomial_build(const struct ronde_request *request,
                                    struct ronde_builder *builder);
struct ronde_price ronde_broadcast_binomial_price(const struct ronde_request *request,
                                                  const struct ronde_load *load,
                                                  const struct ronde_network *network);

/* broadcast_chain.c */
void ronde_broadcast_chain_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_broadcast_chain_price(const struct ronde_request *request,
                                               const struct ronde_load *load,
                                               const struct ronde_network *network);

/* broadcast_direct.c */
void ronde_broadcast_direct_build(const struct ronde_request *request,
                                  struct ronde_builder *builder);
struct ronde_price ronde_broadcast_direct_price(const struct ronde_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network);

/* broadcast_double_tree.c */
void ronde_broadcast_double_tree_build(const struct ronde_request *request,
                                       struct ronde_builder *builder);
struct ronde_price ronde_broadcast_double_tree_price(const struct ronde_request *request,
                                                     const struct ronde_load *load,
                                                     const struct ronde_network *network);

/* broadcast_scatter_allgather.c */
void ronde_broadcast_scatter_allgather_build(const struct ronde_request *request,
                                             struct ronde_builder *builder);
struct ronde_price ronde_broadcast_scatter_allgather_price(const struct ronde_request *request,
                                                           const struct ronde_load *load,
                                                           const struct ronde_network *network);

/* reduce_binomial.c */
void ronde_reduce_binomial_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_reduce_binomial_price(const struct ronde_request *request,
                                               const struct ronde_load *load,
                                               const struct ronde_network *network);

/* reduce_chain.c */
void ronde_reduce_chain_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_reduce_chain_price(const struct ronde_request *request,
                                            const struct ronde_load *load,
                                            const struct ronde_network *network);

/* reduce_double_tree.c */
void ronde_reduce_double_tree_build(const struct ronde_request *request,
                                    struct ronde_builder *builder);
struct ronde_price ronde_reduce_double_tree_price(const struct ronde_request *request,
                                                  const struct ronde_load *load,
                                                  const struct ronde_network *network);

/* reduce_rabenseifner.c */
void ronde_reduce_rabenseifner_build(const struct ronde_request *request,
                                     struct ronde_builder *builder);
struct ronde_price ronde_reduce_rabenseifner_price(const struct ronde_request *request,
                                                   const struct ronde_load *load,
                                                   const struct ronde_network *network);

/* scatter_binomial.c */
void ronde_scatter_binomial_build(const struct ronde_request *request,
                                  struct ronde_builder *builder);
struct ronde_price ronde_scatter_binomial_price(const struct ronde_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network);

/* scatter_direct.c */
void ronde_scatter_direct_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_scatter_direct_price(const struct ronde_request *request,
                                              const struct ronde_load *load,
                                              const struct ronde_network *network);

/* gather_binomial.c */
void ronde_gather_binomial_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_gather_binomial_price(const struct ronde_request *request,
                                               const struct ronde_load *load,
                                               const struct ronde_network *network);

/* gather_direct.c */
void ronde_gather_direct_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_gather_direct_price(const struct ronde_request *request,
                                             const struct ronde_load *load,
                                             const struct ronde_network *network);

/* all_to_all_pairwise.c */
void ronde_all_to_all_pairwise_build(const struct ronde_request *request,
                                     struct ronde_builder *builder);
struct ronde_price ronde_all_to_all_pairwise_price(const struct ronde_request *request,
                                                   const struct ronde_load *load,
                                                   const struct ronde_network *network);

/* all_to_all_direct.c */
void ronde_all_to_all_direct_build(const struct ronde_request *request,
                                   struct ronde_builder *builder);
struct ronde_price ronde_all_to_all_direct_price(const struct ronde_request *request,
                                                 const struct ronde_load *load,
                                                 const struct ronde_network *network);

/* all_to_all_bruck.c */
void ronde_all_to_all_bruck_build(const struct ronde_request *request,
                                  struct ronde_builder *builder);
struct ronde_price ronde_all_to_all_bruck_price(const struct ronde_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network);

/* all_to_all_hierarchical.c */
enum ronde_status ronde_all_to_all_hierarchical_supports(const struct ronde_request *request,
                                                         struct ronde_error *why_not);
void ronde_all_to_all_hierarchical_build(const struct ronde_request *request,
                                         struct ronde_builder *builder);
struct ronde_price ronde_all_to_all_hierarchical_price(const struct ronde_request *request,
                                                       const struct ronde_load *load,
                                                       const struct ronde_network *network);

/* barrier_dissemination.c */
void ronde_barrier_dissemination_build(const struct ronde_request *request,
                                       struct ronde_builder *builder);
struct ronde_price ronde_barrier_dissemination_price(const struct ronde_request *request,
                                                     const struct ronde_load *load,
                                                     const struct ronde_network *network);

/* barrier_tree.c */
void ronde_barrier_tree_build(const struct ronde_request *request, struct ronde_builder *builder);
struct ronde_price ronde_barrier_tree_price(const struct ronde_request *request,
                                            const struct ronde_load *load,
                                            const struct ronde_network *network);

/* send_recv_direct.c */
enum ronde_status ronde_send_recv_direct_supports(const struct ronde_request *request,
                                                  struct ronde_error *why_not);
void ronde_send_recv_direct_build(const struct ronde_request *request,
                                  struct ronde_builder *builder);
struct ronde_price ronde_send_recv_direct_price(const struct ronde_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network);

#endif
