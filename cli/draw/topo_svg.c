/* A platform as a picture: a torus as a grid, anything else as rows and frames. */
#include "topo_svg.h"

enum ronde_status ronde_topo_view_print_svg(const struct ronde_topo_view *view, FILE *file,
                                            struct ronde_error *error)
{
    struct ronde_page page = ronde_page_of(view, file);
    if (view->torus.axes == 0)
        return ronde_page_rows(&page, view, error);
    ronde_page_torus(&page, view);
    return RONDE_OK;
}
