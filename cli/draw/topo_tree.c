/*
 * The tree of a platform on a terminal: nodes, what is in them, what they share, and the wires of each. Equal parts are
 * one line with their number.
 */
#include "topo_view.h"

#include "ronde/mem.h"

#include <string.h>

/* Kinds of wires of one vertex that are told apart; beyond them, the last one stands for the rest. */
#define MAX_BUNDLES 16u

/* Equal vertices of a node, or of what is shared. */
struct part {
    uint32_t count;
    uint32_t first; /* vertex */
    uint32_t last;  /* vertex */
};

/* Equal wires of a vertex. */
struct bundle {
    uint32_t count;
    uint32_t edge;  /* the first of them */
    uint32_t first; /* vertex at the other end */
    uint32_t last;
};

/* The tree being printed. */
struct tree {
    const struct ronde_topo_view *view;
    FILE *file;
    struct part *parts; /* per class */
};

static bool are_told_apart(const struct ronde_topo_view *view, uint32_t a, uint32_t b)
{
    return strcmp(ronde_topo_view_name(view, a), ronde_topo_view_name(view, b)) != 0;
}

/* "a", or "a .. b". */
static void print_names(const struct tree *tree, uint32_t first, uint32_t last)
{
    fputs(ronde_topo_view_name(tree->view, first), tree->file);
    if (are_told_apart(tree->view, first, last))
        fprintf(tree->file, " .. %s", ronde_topo_view_name(tree->view, last));
}

static bool are_equal_wires(const struct ronde_topo_view *view, uint32_t vertex, uint32_t a,
                            uint32_t b)
{
    const struct ronde_edge *left = &view->shape.edges[a], *right = &view->shape.edges[b];
    char left_text[64], right_text[64];
    ronde_topo_view_rate(left, left_text, sizeof left_text);
    ronde_topo_view_rate(right, right_text, sizeof right_text);
    return left->latency_ns == right->latency_ns && strcmp(left_text, right_text) == 0 &&
           view->class_of[ronde_topo_view_other(view, a, vertex)] ==
               view->class_of[ronde_topo_view_other(view, b, vertex)];
}

/* The wires of a vertex, equal ones together. Returns how many kinds. */
static uint32_t bundle_wires(const struct ronde_topo_view *view, uint32_t vertex,
                             struct bundle *bundles)
{
    uint32_t count = 0;
    for (uint32_t i = view->first_edge[vertex]; i < view->first_edge[vertex + 1]; i++) {
        const uint32_t edge = view->edge_of[i], other = ronde_topo_view_other(view, edge, vertex);
        uint32_t k = 0;
        while (k < count && !are_equal_wires(view, vertex, bundles[k].edge, edge))
            k++;
        if (k == MAX_BUNDLES)
            k--;
        else if (k == count)
            bundles[count++] = (struct bundle){0, edge, other, other};
        bundles[k].count++;
        bundles[k].last = other;
    }
    return count;
}

/* Where the same wire of the last of a part leads, so that a reader sees whether all lead to one place. */
static uint32_t target_of_last(const struct ronde_topo_view *view, const struct part *part,
                               uint32_t bundle)
{
    struct bundle bundles[MAX_BUNDLES];
    return bundle < bundle_wires(view, part->last, bundles) ? bundles[bundle].first : RONDE_NONE;
}

static void print_wires(const struct tree *tree, const struct part *part, int indent)
{
    struct bundle bundles[MAX_BUNDLES];
    const uint32_t count = bundle_wires(tree->view, part->first, bundles);
    for (uint32_t i = 0; i < count; i++) {
        const struct bundle *bundle = &bundles[i];
        char rate[64], latency[32], number[16] = "";
        ronde_topo_view_rate(&tree->view->shape.edges[bundle->edge], rate, sizeof rate);
        ronde_topo_view_time(tree->view->shape.edges[bundle->edge].latency_ns, latency,
                             sizeof latency);
        if (bundle->count > 1)
            snprintf(number, sizeof number, "%u x ", bundle->count);
        fprintf(tree->file, "%*s%s%s%s%s to ", indent, "", number, rate, latency[0] ? ", " : "",
                latency);
        print_names(tree, bundle->first, bundle->last);
        const uint32_t last = target_of_last(tree->view, part, i);
        if (bundle->count == 1 && last != RONDE_NONE &&
            are_told_apart(tree->view, bundle->first, last))
            fprintf(tree->file, " (of %s: %s)", ronde_topo_view_name(tree->view, part->last),
                    ronde_topo_view_name(tree->view, last));
        fputc('\n', tree->file);
    }
}

/* What a vertex is, in a word. */
static const char *kind_of(const struct ronde_vertex *vertex)
{
    if (vertex->host != RONDE_NONE)
        return "host";
    if (vertex->is_opaque)
        return "zone only SimGrid routes";
    return vertex->rate_GBps > 0 ? "medium" : "switch";
}

static void print_medium(const struct tree *tree, const struct ronde_vertex *vertex)
{
    char rate[32];
    ronde_topo_view_GBps(vertex->rate_GBps, rate, sizeof rate);
    fprintf(tree->file, ", %s %s", rate, vertex->is_fatpipe ? "for each flow" : "shared by all");
}

static void print_part(const struct tree *tree, const struct part *part, int indent)
{
    const struct ronde_vertex *vertex = &tree->view->shape.vertices[part->first];
    fprintf(tree->file, "%*s%u x %s", indent, "", part->count, kind_of(vertex));
    if (vertex->name[0] != '\0') {
        fputc(' ', tree->file);
        print_names(tree, part->first, part->last);
    }
    if (vertex->rate_GBps > 0)
        print_medium(tree, vertex);
    fputc('\n', tree->file);
    print_wires(tree, part, indent + 6);
}

/* All parts of a node, or of what nodes share. */
static void print_parts(const struct tree *tree, uint32_t owner, int indent)
{
    const struct ronde_topo_view *view = tree->view;
    memset(tree->parts, 0, view->class_count * sizeof *tree->parts);
    for (uint32_t v = 0; v < view->shape.vertex_count; v++) {
        struct part *part = &tree->parts[view->class_of[v]];
        if (view->owner[v] != owner)
            continue;
        if (part->count++ == 0)
            part->first = v;
        part->last = v;
    }
    for (uint32_t v = 0; v < view->shape.vertex_count; v++) {
        const struct part *part = &tree->parts[view->class_of[v]];
        if (part->count > 0 && part->first == v && view->owner[v] == owner)
            print_part(tree, part, indent);
    }
}

static void print_host_range(const struct tree *tree, uint32_t node)
{
    const struct ronde_nodes *nodes = &tree->view->nodes;
    print_names(tree, nodes->hosts[nodes->first[node]], nodes->hosts[nodes->first[node + 1] - 1]);
}

/* Nodes of equal parts together. */
static void print_nodes(const struct tree *tree)
{
    const struct ronde_topo_view *view = tree->view;
    for (uint32_t node = 0; node < view->nodes.count; node++) {
        uint32_t count = 0, last = node;
        for (uint32_t other = node; other < view->nodes.count; other++)
            if (view->node_class[other] == node) {
                count++;
                last = other;
            }
        if (count == 0)
            continue;
        fprintf(tree->file, "  %u x %s of %u hosts: ", count, ronde_topo_view_group(view),
                view->nodes.first[node + 1] - view->nodes.first[node]);
        print_host_range(tree, node);
        if (count > 1) {
            fputs(count > 2 ? ", ..., " : ", ", tree->file);
            print_host_range(tree, last);
        }
        fputc('\n', tree->file);
        print_parts(tree, node, 6);
    }
}

/* One line: what it is and how big. */
static void print_title(const struct tree *tree)
{
    static const char *const sources[] = {"as the file says", "zones of the file",
                                          "joined by faster links", ""};
    const struct ronde_topo_view *view = tree->view;
    const struct ronde_platform_facts *facts = ronde_platform_facts(view->platform);
    fprintf(tree->file, "%s: %u hosts", facts->name, facts->hosts);
    if (view->has_nodes)
        fprintf(tree->file, " in %u %s%s (%s)", view->nodes.count, ronde_topo_view_group(view),
                view->nodes.count == 1 ? "" : "s", sources[view->nodes.source]);
    const uint32_t others = view->shape.vertex_count - facts->hosts;
    fprintf(tree->file, ", %u other place%s, %u wire%s", others, others == 1 ? "" : "s",
            view->shape.edge_count, view->shape.edge_count == 1 ? "" : "s");
    if (view->torus.axes > 0) {
        fputs(", torus ", tree->file);
        for (uint32_t axis = view->torus.axes; axis > 0; axis--)
            fprintf(tree->file, "%u%s", view->torus.radix[axis - 1], axis > 1 ? "x" : "");
    }
    fputc('\n', tree->file);
}

enum ronde_status ronde_topo_view_print_tree(const struct ronde_topo_view *view, FILE *file,
                                             struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct tree tree = {.view = view, .file = file};
    tree.parts = ronde_mem_new(mem, view->class_count, sizeof *tree.parts);
    if (!tree.parts)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u kinds of parts",
                          view->class_count);
    print_title(&tree);
    if (view->has_nodes)
        print_nodes(&tree);
    print_parts(&tree, RONDE_NONE, 2);
    ronde_mem_free(mem, tree.parts, view->class_count, sizeof *tree.parts);
    return RONDE_OK;
}
