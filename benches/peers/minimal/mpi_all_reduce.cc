// MPI_Allreduce and nothing else: SIZE in bytes, CALLS timed, after 5 that are not. Prints the
// slowest rank's time of one call [s].
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const int count = std::atoi(argv[1]) / 4, calls = std::atoi(argv[2]);
  std::vector<float> in(static_cast<std::size_t>(count), 1.0f), out(in.size());
  for (int i = 0; i < 5; ++i) MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  const double own = (MPI_Wtime() - begin) / calls;
  double slowest = 0;
  MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("%.9f\n", slowest);
  MPI_Finalize();
}
