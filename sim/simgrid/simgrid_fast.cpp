/*
 * Makes SimGrid 3.32 linear. There, CommImpl::detach puts every communication on a list of the maestro, and its end
 * removes it from that list by search, so that a message costs as much as there are flows in flight (1024-rank ring:
 * 12 s instead of 2.2 s). Later versions use a set (SimGrid commit 5f8fc2c203), and this file is then left out.
 *
 * libsimgrid calls the method through its procedure linkage table, so this definition wins. What the list did must then
 * be done by the owner, who is to hold each CommPtr until its completion; simgrid.cpp does. No SimGrid header is
 * included, for the real class has the same name.
 */
namespace simgrid::kernel::activity
{

class CommImpl
{
  public:
    __attribute__((visibility("default"))) CommImpl &detach();
};

CommImpl &CommImpl::detach()
{
    return *this;
}

} // namespace simgrid::kernel::activity
