#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: programs-build.sh SOURCES DIR [PATTERN...]
# Builds third-party programs for programs.sh, in DIR, from checkouts below SOURCES: cuda-samples,
# gpu-rodinia, HeCBench, shoc, Parboil, PolyBench-ACC. PATTERN selects programs (shell patterns of
# names such as cs-scan, hec-*). In the environment: JOBS, how many are compiled at a time; NVCC;
# ARCH, the SASS architecture beside PTX (90); BUILD, a folder for compiled files and logs
# (DIR.build). DEVICE=cpu builds the programs of programs-cpu.txt, in the sizes there, for the
# virtual GPU and for a GPU to compare with: with the CUDA runtime as a shared library, and PTX
# only. The commits for DIR/LIST come from git or from SOURCES/NAME.commit.
#
# Each program is compiled from a copy of its folder. If its own check on the CPU would take
# minutes, its sizes are reduced. Data that a checkout lacks are generated, always the same. A
# program that uses the clock as a seed always gets the same value. At the end, prints the programs
# that were not built, and how many were; exit status 1 if any was not.
set -eu
sources=$(cd "$1" && pwd)
mkdir -p "$2"
programs=$(cd "$2" && pwd)
shift 2
build=${BUILD:-$programs.build}
arch=${ARCH:-90}
device=${DEVICE:-cuda}
here=$(cd "$(dirname "$0")" && pwd)
small=$here/programs-cpu.txt

# ---- the programs, and how their builds differ from their suite's ----

# Input: lines with a suite and some of its programs with their arguments. Output: lines of a name
# and arguments.
table() {
	awk '{ suite = $1; sub(/^[^ ]+ /, ""); n = split($0, p, "; "); for (i = 1; i <= n; i++) print suite "-" p[i] }' <<-'END'
		cs alignedTypes; asyncAPI; bf16TensorCoreGemm; bf16TensorCoreGemmSimple; binaryPartitionCG
		cs binomialOptions; BlackScholes; cdpAdvancedQuicksort; cdpBezierTessellation; cdpQuadtree
		cs cdpSimplePrint; cdpSimpleQuicksort; clock; conjugateGradientMultiBlockCG; convolutionSeparable
		cs convolutionTexture; cudaCompressibleMemory; cudaTensorCoreGemm; cudaTensorCoreGemmSimple; dct8x8
		cs dmmaTensorCoreGemm; dmmaTensorCoreGemmSimple; dwtHaar1D; dxtc; eigenvalues; fastWalshTransform
		cs FDTD3d --dimx=192 --dimy=192 --dimz=192; fp16ScalarProduct; globalToShmemAsyncCopy
		cs graphConditionalNodes; graphMemoryFootprint; graphMemoryNodes; histogram; HSOpticalFlow
		cs immaTensorCoreGemm; immaTensorCoreGemmSimple; inlinePTX; interval; jacobiCudaGraphs
		cs LargeKernelParameter; lineOfSight; matrixMul; matrixMulDrv; mergeSort; newdelete; ptxjit
		cs quasirandomGenerator; radixSortThrust; reduction; reductionMultiBlockCG; scalarProd; scan
		cs segmentationTreeThrust; shfl_scan; simpleAtomicIntrinsics; simpleAttributes; simpleAWBarrier
		cs simpleCallback; simpleCooperativeGroups; simpleCubemapTexture; simpleCudaGraphs; simpleDrvRuntime
		cs simpleHyperQ; simpleLayeredTexture; simpleMultiCopy; simpleOccupancy; simplePitchLinearTexture
		cs simplePrintf; simpleStreams; simpleSurfaceWrite; simpleTemplates; simpleTexture; simpleTextureDrv
		cs simpleVoteIntrinsics; simpleZeroCopy; SobolQRNG; sortingNetworks; stereoDisparity
		cs streamOrderedAllocation; StreamPriorities; systemWideAtomics; template; tf32TensorCoreGemm
		cs tf32TensorCoreGemmSimple; threadFenceReduction; threadMigration; transpose; vectorAdd; vectorAddDrv
		cs vectorAddMMAP; warpAggregatedAtomicsCG
		hec atomicAggregate 20; atomicCAS 100; atomicCost 16 20; atomicIntrinsics 22 50; atomicPerf 10
		hec atomicReduction 4194304 20; attention 8192 1024 3 100; bitonic-sort 20 2; blockexchange 2048 2048 50
		hec blockScan 20000 10; bn result 2; bscan 100; floydwarshall 256 20 16; fsm 4096; fwt 5
		hec gc internet.egr 20; hmm; hwt1d 1048576 20; hybridsort r; interleave 20; intrinsics-simd 1000000 20
		hec jaccard 512 512 50; laplace3d 128 128 64 100 1; lavaMD -boxes1d 8; layernorm 8 256 768 20
		hec lulesh -i 30 -s 32 -r 11 -b 1 -c 1; mandelbrot 50; md 1 50; mergeVS 100; minisweep --niterations 2
		hec mis internet.egr 20; murmurhash3 10000 20; nqueen 14 7 10; nw 2048 10 10; pns 10 200 2000
		hec popcount 1048576 50; prefetch 20; quicksort 3 512 512; radixsort 20; romberg 128 64 20
		hec rsbench -s small -m event; scan 4194304 20; scan2 100 4194304 256; scatter 1000000 10; secp256k1 5
		hec segment-reduce 256 10; shmembench 100; shuffle 20000 20; softmax 20000 784 1 100; sort 1 10
		hec stencil3d 64 200; su3 -i 50 -l 16 -t 128 -v 3 -w 1; thomas 512 4096 64 20; threadfence 20 10000000
		hec topk 64 20; tsa 512 512 20; vote 1000; wedford 64 64 1024 20; wmma 0 256 256 256 50 1
		hec wyllie 1000000 1 20
		shoc BFS -s 1 --passes 2; FFT -s 1 --passes 2; MD -s 1 --passes 2; MD5Hash -v -s 1 --passes 2
		shoc Reduction -s 1 --passes 2; S3D -s 1 --passes 2; Scan -s 1 --passes 2; Sort -s 1 --passes 2
		shoc Spmv -s 1 --passes 2; Stencil2D -s 1 --num-iters 100 --passes 2; Triad -s 1 --passes 2
		rod b+tree file keys command commands; backprop 65536; bfs graph; cfd mesh; cfd_double mesh
		rod dwt2d image.raw -d 192x192 -f -5 -l 3; gaussian -s 256; hotspot 256 2 200 temp power out
		rod hotspot3D 64 8 200 power temp out; huffman text; kmeans -o -i points; lavaMD -boxes1d 8
		rod lud -s 512 -v; myocyte 100 1 0; nn list -r 5 -lat 30 -lng 90; nw 2048 10
		rod particlefilter_float -x 128 -y 128 -z 10 -np 1000; particlefilter_naive -x 128 -y 128 -z 10 -np 1000
		rod pathfinder 10000 100 20; srad_v1 100 0.5 502 458; srad_v2 256 256 0 63 0 63 0.5 100
		rod streamcluster 10 20 64 4096 4096 200 none out 1
		par bfs -i graph -o out; cp -o out; cutcp -i atoms.pqr -o out; histo -i image -o out.bmp -- 20
		par lbm -i obstacles -o out -- 20; mri-fhd -i samples -o out; mri-gridding -i samples -o out -- 32 0
		par mri-q -i samples -o out; pns -o out -- 10 200 2000; sgemm -i a,b,b -o out
		par spmv -i matrix.mtx,vector -o out; stencil -i grid -o out -- 128 64 32 200
		par tpacf -i a,b,a,b,a,b,a,b,a,b,a -o out -- -n 10 -p 1024
		poly 2mm; 3mm; adi; atax; bicg; convolution-2d; convolution-3d; correlation; covariance; doitgen
		poly fdtd-2d; gemm; gemver; gesummv; gramschmidt; jacobi-1d-imper; jacobi-2d-imper; lu; mvt; syr2k; syrk
	END
}

# smaller NAME COLUMN: prints a column of programs-cpu.txt, which lists smaller arguments for the
# virtual GPU.
smaller() {
	awk -F '\t' -v name="$1" -v column="$2" '$1 == name { print $column }' "$small"
}

# Prints the names of all programs.
names() {
	if [ "$device" = cpu ]; then
		sed 's/#.*//; s/\t.*//; /^$/d' "$small"
	else
		table | sed 's/ .*//'
	fi
}

arguments() {
	own='='
	[ "$device" != cpu ] || own=$(smaller "$name" 2)
	if [ "$own" = '=' ]; then
		table | sed -n "s/^$name //p"
	else
		echo "$own"
	fi
}

# Sets the variables that differ from the defaults for the program $name. where: its folder;
# compile: the files to compile; flags; also: files from elsewhere to compile with it; edit: a
# script of sed -E for all sources; data: files to copy; make: data to generate; kernel: module
# files that it loads; filter, unordered, limit: settings for programs.sh.
describe() {
	where='' compile='' flags='' also='' edit='' data='' make='' kernel='' filter='' unordered='' limit=''
	hec=$sources/HeCBench/src
	case $name in
	cs-asyncAPI) filter='s/executed [0-9]+ iterations/executed # iterations/' ;;
	cs-binaryPartitionCG | cs-conjugateGradientMultiBlockCG) filter='s/Launching [0-9]+/Launching #/' ;;
	cs-reductionMultiBlockCG | cs-simpleAWBarrier) filter='s/(numBlocks[:=[:blank:]]+)[0-9]+/\1#/' ;;
	cs-simpleMultiCopy) filter='s/^\(.\) (Can overlap)/(#) \1/' ;; # number of copy engines
	cs-simpleOccupancy) filter='s/(Minimum grid size .*:).*/\1 #/' ;;
	cs-simpleStreams) filter='s/^(memcopy|kernel|non-streamed|[0-9]+ streams):.*/\1: #/' ;;
	cs-systemWideAtomics) filter='s/CAN(NOT)? access pageable memory/# access pageable memory/' ;;
	cs-cdp*) flags='-rdc=true -lcudadevrt' ;;
	cs-cudaCompressibleMemory) flags=-lcuda ;;
	cs-fastWalshTransform) edit='s/(log2Data *= )23/\121/' ;;
	cs-FDTD3d) compile='src/*.cu src/*.cpp' flags=-Iinc ;;
	cs-HSOpticalFlow) edit='s/(nSolverIters *= )500/\150/' ;;
	cs-ptxjit) kernel=ptx ;;
	cs-stereoDisparity) edit='s/(minDisp *= )-16/\1-5/' ;;
	cs-*Drv | cs-threadMigration | cs-vectorAddMMAP | cs-simpleDrvRuntime) kernel=fatbin ;;
	cs-*TensorCoreGemm*) gemm ;;
	hec-atomicIntrinsics | hec-bn | hec-minisweep | hec-pns) compile=main.cu ;;
	hec-blockexchange) flags="-I$hec/blockAccess-cuda -I$hec/warpexchange-cuda" ;;
	hec-fwt) compile='main.cu reference.cu' edit='s/(log2Data *= )23/\121/' ;;
	hec-gc) flags=-I$hec/mis-cuda data=$hec/mis-cuda/internet.egr ;;
	hec-hmm) edit='s/(nState|nEmit) *= 4096/\1 = 1024/; s/(nObs *= )250/\160/' ;;
	hec-hybridsort) compile='hybridsort.cu bucketsort.cu mergesort.cu' edit='s/(define SIZE \().*/\12000000)/' ;;
	hec-lavaMD) compile='main.cu util/*/*.cu' ;;
	hec-layernorm) flags=-I$hec/rmsnorm-cuda ;;
	hec-mis) data=internet.egr ;;
	hec-quicksort) filter='/Deviation|Average/s/:.*//' ;;
	hec-radixsort) compile='main.cu RadixSort.cu Scan.cu' ;;
	hec-scatter | hec-topk) flags=--expt-relaxed-constexpr ;;
	hec-stencil3d) flags=-DDUMP ;;
	hec-su3) flags=-DMILC_COMPLEX filter='s/memory usage.*//' ;;
	hec-wmma) filter='/^[0-9]+, /s/(, [^,]*){3}$//' ;;
	shoc-BFS) compile='BFS.cu bfs_kernel.cu Graph.cpp' ;;
	shoc-FFT) compile='FFT.cpp fftlib.cu' ;;
	# the driver's compiler takes 16 to 19 s for its forms
	shoc-S3D) where=level2/s3d limit=60 ;;
	shoc-Sort) compile='Sort.cu sort_kernel.cu' ;;
	shoc-Stencil2D)
		flags=-Drestrict=__restrict__
		compile='CUDAStencil*.c* CommonCUDAStencilFactory.cpp Stencil2Dmain.cpp InvalidArgValue.cpp Matrix2DStatics.cpp'
		;;
	rod-b+tree) compile='main.c kernel/*_wrapper*.cu util/*/*.c*' make=keys ;;
	rod-backprop)
		compile='backprop.c facetrain.c imagenet.c backprop_cuda.cu'
		edit='s/^( *)bpnn_free\(net\)/bpnn_save(net, "out"); &/'
		;;
	rod-bfs) compile=bfs.cu make=graph ;;
	rod-cfd*) where=cfd compile="euler3d${name#rod-cfd}.cu" edit='s/(define iterations).*/\1 500/' make=mesh ;;
	rod-dwt2d) compile='*.cu dwt_cuda/*.cu' make=bytes ;;
	rod-gaussian) edit='s/int verbose = 0/int verbose = 1/' ;;
	rod-hotspot) make=heat ;;
	rod-hotspot3D) compile=3D.cu make=heat ;;
	rod-huffman) compile='main_test_cu.cu cpuencode.cpp' make=bytes ;;
	rod-kmeans) compile='*.c kmeans_cuda.cu' make=points ;;
	rod-lavaMD) compile='main.c kernel/*_wrapper.cu util/*/*.c*' flags=-DOUTPUT ;;
	rod-lud) compile='cuda/*.cu common/common.c' flags=-Icommon ;;
	rod-myocyte) compile=main.cu edit='s|../../data/myocyte/||' make=cells ;;
	rod-nn) compile=nn_cuda.cu make=places ;;
	rod-nw) compile=needle.cu flags=-DTRACEBACK ;;
	rod-particlefilter_*) where=particlefilter compile="ex_particle_CUDA_${name#*_}_seq.cu" ;;
	rod-pathfinder) flags=-DBENCH_PRINT ;;
	rod-srad_v1) where=srad/srad_v1 compile=main.cu edit='s|../../../data/srad/||' make=image ;;
	rod-srad_v2) where=srad/srad_v2 compile=srad.cu flags=-DOUTPUT ;;
	rod-streamcluster) compile='streamcluster_cuda_cpu.cpp streamcluster_cuda.cu streamcluster_header.cu' ;;
	par-bfs) compile=main.cu make=graph ;;
	par-cp) compile='*.cu' ;;
	par-cutcp) compile='main.c readatom.c output.c excl.c cutcpu.c cutoff6overlap.cu' make=atoms ;;
	par-histo) compile='*.cu' make=picture ;;
	par-lbm) compile='main.cc lbm.cu' make=obstacles ;;
	par-mri-gridding) compile='CPU_kernels.c CUDA_interface.cu scanLargeArray.cu sort.cu main.cu' make=orbits ;;
	par-mri-*) compile='main.cu file.cc' make=samples ;;
	par-pns) compile=main.cu ;;
	par-sgemm) compile='main.cu io.cc' make=matrices ;;
	par-spmv)
		flags=-I$sources/Parboil/benchmarks/spmv/common_src/convert-dataset
		also="${flags#-I}/convert_dataset.c ${flags#-I}/mmio.c"
		compile='main.cu file.cc gpu_info.cc convert_dataset.c mmio.c' make=sparse
		;;
	par-stencil) compile='main.cu file.cc' make=grid ;;
	par-tpacf) compile='main.cu _args.cc model_io.cc' make=stars ;;
	poly-[23]mm | poly-adi | poly-doitgen | poly-jacobi-2d* | poly-syr*) flags=-DSMALL_DATASET ;;
	poly-co* | poly-fdtd-2d | poly-gramschmidt | poly-lu) flags=-DMINI_DATASET ;;
	esac
	case $name in
	cs-cdpSimplePrint) filter='s/(block) [0-9]+/\1 #/Ig' unordered=yes ;;
	cs-simplePrintf | cs-threadMigration) unordered=yes ;;
	esac
	[ -z "$kernel" ] || compile='*.cpp' flags=-lcuda
}

# Sets up a sample that multiplies matrices: sizes that the CPU checks within a second, a loop that
# runs its kernel often, and which of its two kernels runs.
gemm() {
	where=${name#cs-}
	where=${where%Simple}
	flags=-DCPU_DEBUG=1
	edit='s/checkKernelErrors\((\([a-z_0-9]+<<<.*)?$/for (int r = 0; r < 2000; r++) &/
		s/^( *)(simple_[a-z0-9_]*<<<)/\1for (int r = 0; r < 2000; r++) \2/'
	[ "$name" = "cs-$where" ] || edit="$edit; s/deviceProp.sharedMemPerMultiprocessor >= SHMEM_SZ/false/"
	case $name in
	cs-cuda*) set -- 32 32 16 ;;
	# the simple kernel uses M as the width of A, and reads past the end if K is less
	cs-imma*) set -- 32 32 32 ;;
	cs-dmma*) set -- 128 64 128 ;;
	cs-tf32*) set -- 64 32 64 ;;
	*) set -- 64 32 32 ;;
	esac
	edit="$edit; s/(define M_TILES).*/\\1 $1/; s/(define N_TILES).*/\\1 $2/; s/(define K_TILES).*/\\1 $3/"
}

# Sets the folder, and the settings of the whole suite. Replaces functions that CUDA no longer has.
suite() {
	flags="-I. $flags -DcudaThreadSynchronize=cudaDeviceSynchronize -DcudaThreadExit=cudaDeviceReset"
	case $name in
	cs-*)
		where=$(echo "$sources"/cuda-samples/Samples/[0-9]_*/"${where:-${name#cs-}}")
		flags="-std=c++17 --extended-lambda -I$sources/cuda-samples/Common $flags"
		[ ! -d "$where/data" ] || data=data
		return
		;;
	hec-*)
		where=$hec/${name#hec-}-cuda
		flags="-std=c++17 -I$where $flags"
		return
		;;
	shoc-*)
		compile="${compile:-${name#shoc-}.cu} main.cpp OptionParser.cpp Option.cpp ResultDatabase.cpp Timer.cpp"
		where=$sources/shoc/src/cuda/${where:-level1/$(echo "${name#shoc-}" | tr '[:upper:]' '[:lower:]')}
		flags="$flags -I$sources/shoc/src/common -DHAVE_GETTIMEOFDAY"
		also=$(ls "$sources"/shoc/src/cuda/common/* "$sources"/shoc/src/common/*.cpp)
		filter='/^([^\t]*\t){6}/s/\t.*//' # tables of rates
		;;
	rod-*)
		where=$sources/gpu-rodinia/cuda/${where:-${name#rod-}}
		flags="$flags -I$sources/cuda-samples/Common"
		filter='/TOOK|SEND|^Exec|FREE|GPU Execution|: [A-Z ,>/-]+$/s/[0-9.]+//g'
		;;
	par-*)
		where=$sources/Parboil/benchmarks/${name#par-}/src/cuda
		set -- "$sources"/Parboil/common
		also="$also $1/src/parboil_cuda.c $1/src/args.c $1/include/parboil.h"
		compile="$compile parboil_cuda.c args.c"
		edit='s/^#define MEASURE_KERNEL_TIME.*//; s/^void pb_sig_clmem.*//' # OpenCL
		filter='/^(IO|Kernel|Copy|Driver|Compute|Timer|CPU.Kernel)/d'
		;;
	own-*)
		where=$here compile=${name#own-}.cu
		return
		;;
	poly-*)
		where=$(find "$sources/PolyBench-ACC/CUDA" -type d -name "${name#poly-}")
		flags="$flags -DPOLYBENCH_DUMP_ARRAYS -I$sources/PolyBench-ACC/CUDA/utilities"
		edit='s/^# *define RUN_ON_CPU.*//'
		filter='s/^[0-9]+\.[0-9]{6}$/#/' # seconds
		;;
	esac
	edit="$edit
		s/\\<[A-Za-z_]+(\\.|->) *(clockRate|memoryClockRate|computeMode|deviceOverlap)\\>/0/g
		s/^( *)texture *< *([^,>]+)[^>]*>/\\1__device__ linear<\\2>/"
}

# ---- data ----

# COUNT EXPRESSION: prints COUNT values of awk's expression of i and of r(n), a random number from 0
# to n-1
random() {
	awk "function r(n) { x = x * 16807 % 2147483647; return int(x / 2147483647 * n) }
		BEGIN { x = 12345; for (i = 0; i < $1; i++) print($2) }"
}

words() { # converts numbers to 32-bit words, least significant byte first
	awk '{ for (k = 0; k < 4; k++) { printf "\\%03o", $1 % 256; $1 = int($1 / 256) } }
		NR % 500 == 0 { print "" } END { print "" }' | while read -r line; do
		# shellcheck disable=SC2059
		printf "$line"
	done
}

floats() { # COUNT: magnitudes from 1 to 2
	random "$1" '1065353216 + r(8388608) + 2147483648 * r(2)' | words
}

generate() { # creates a program's input files
	case $1 in
	atoms)
		random 5000 '"ATOM ", i, "O HOH", i, r(600) / 10, r(600) / 10, r(600) / 10, r(200) / 100 - 1, 1.5' >atoms
		;;
	bytes) random 30000 'r(1000000000)' | head -c 110592 | tee image.raw >text ;;
	cells)
		random 91 'r(1000) / 1000 + 0.01' >y.txt
		random 16 'r(1000) / 1000 + 0.01' >params.txt
		;;
	graph)
		random 32768 'i * 4, 4' | sed '1i 32768' >graph
		random 131072 'r(32768), 1 + r(9)' | sed '1i 0\n131072' >>graph
		;;
	grid) floats 262144 >grid ;;
	heat)
		random 65536 '320 + r(200) / 10' >temp
		random 65536 'r(1000) / 100000' >power
		;;
	image) random 229916 'r(256)' | sed '1i P2\n458 502\n255' >image.pgm ;;
	keys)
		random 50000 'r(50000)' | sed '1i 50000' >keys
		printf 'j 6000 3000\nk 10000\n\0' >commands
		;;
	matrices)
		random 262144 'r(10) / 10' | sed '1i 512 512' >a
		random 262144 'r(10) / 10 - 0.5' | sed '1i 512 512' >b
		;;
	mesh) # 128 x 96 squares, with a wall at the lower edge and the far field at the others
		awk 'function side(j, x, y) { printf " %d %d %d 0", j, x, y }
			BEGIN { print 12288; for (y = 0; y < 96; y++) for (x = 0; x < 128; x++) { i = y * 128 + x + 1; printf "1"
				side(x ? i - 1 : -1, -1, 0); side(x < 127 ? i + 1 : -1, 1, 0)
				side(y ? i - 128 : 0, 0, -1); side(y < 95 ? i + 128 : -1, 0, 1); print "" } }' >mesh
		;;
	obstacles) # 150 layers of 120 x 120
		awk 'BEGIN { x = 12345; for (i = 1; i <= 2160000; i++) { x = x * 16807 % 2147483647
			printf "%s%s%s", x < 4e7 ? "#" : ".", i % 120 ? "" : "\n", i % 14400 ? "" : "\n" } }' >obstacles
		;;
	orbits)
		printf '%s\n' aquisition.numsamples=20000 'aquisition.kmax=2 2 2' 'aquisition.matrixSize=64 64 64' \
			'reconstruction.matrixSize=64 64 64' 'gridding.matrixSize=128 128 128' \
			gridding.oversampling=2 kernel.width=4 kernel.useLUT=1 >samples
		floats 120000 >samples.data
		;;
	picture)
		random 131072 '524288 + 8 * (r(2048) + r(2048) - 2048)' | sed '1i 512\n256\n256\n4096' | words >image
		;;
	places)
		echo db >list
		random 8192 'sprintf("%28d%5.1f%5.1f%10d", i, r(900) / 10, r(1800) / 10, i)' >db
		;;
	points) random 4096 'i, r(100), r(100), r(100), r(50), r(50), r(20), r(20), r(10)' >points ;;
	samples)
		printf '2048\n16384\n' | words >samples
		floats 63488 >>samples
		;;
	sparse)
		random 65536 '1 + int(i / 8), 1 + (i % 8) * 1024 + r(1024), r(1000) / 1000 + 0.1' |
			sed '1i %%MatrixMarket matrix coordinate real general\n8192 8192 65536' >matrix.mtx
		floats 8192 >vector
		;;
	stars)
		random 1024 'r(36000) / 100, r(18000) / 100 - 90' >a
		random 2048 'r(36000) / 100, r(18000) / 100 - 90' | tail -n 1024 >b
		;;
	esac
}

# ---- one of them ----

cuda() {
	code="[sm_$arch,compute_$arch]"
	runtime=static
	if [ "$device" = cpu ]; then
		runtime=shared
		# Programs that launch kernels from kernels need device linking, which only works
		# with SASS.
		case $name in cs-cdp*) ;; *) code=compute_$arch ;; esac
	fi
	# shellcheck disable=SC2086
	${NVCC:-nvcc} -O2 -w -cudart "$runtime" -gencode "arch=compute_$arch,code=$code" "$@" $flags
}

# Makes the program's calls for the time, and for random numbers from the system, return constants.
seed_by_constant() {
	cat >"$build/$name.c" <<-'END'
		long __wrap_time(long *t) { return t ? *t = 1000000000 : 1000000000; }
		static unsigned x;
		unsigned __wrap__ZNSt13random_device9_M_getvalEv(void *d) { return x = x * 1664525 + 1013904223; }
	END
	flags="$flags $build/$name.c -Xlinker --wrap=time -Xlinker --wrap=_ZNSt13random_device9_M_getvalEv"
}

# Replaces texture references to linear memory, which CUDA no longer has.
texture_by_pointer() {
	cat >linear.h <<-'END'
		#ifdef __CUDACC__
		template <class T> struct linear {
			const T *p;
			bool normalized;
			int filterMode, addressMode[3];
			cudaChannelFormatDesc channelDesc;
		};
		template <class T> __device__ T tex1Dfetch(const linear<T> &t, int i) { return t.p[i]; }
		template <class T, class... R> cudaError_t cudaBindTexture(size_t *, linear<T> &t, const void *p, R...)
		{
			void *symbol;
			cudaError_t e = cudaGetSymbolAddress(&symbol, t);
			return e != cudaSuccess ? e : cudaMemcpy(symbol, &p, sizeof(p), cudaMemcpyHostToDevice);
		}
		template <class T, class... R> cudaError_t cudaBindTexture(size_t *o, linear<T> *t, const void *p, R...)
		{
			return cudaBindTexture(o, *t, p);
		}
		template <class T> cudaError_t cudaUnbindTexture(const linear<T> &) { return cudaSuccess; }
		#endif
	END
	flags="$flags -include $PWD/linear.h"
}

one() {
	describe
	[ "$device" != cpu ] || [ -z "$(smaller "$name" 4)" ] || flags=$(smaller "$name" 4)
	suite
	[ "$device" != cpu ] || edit="$edit; $(smaller "$name" 3)"
	[ -d "$where" ]
	rm -rf "${programs:?}/$name" "${build:?}/$name"
	mkdir -p "$programs/$name"
	cp -R "$where" "$build/$name"
	cd "$build/$name"
	# shellcheck disable=SC2086
	[ -z "$also" ] || cp $also .
	[ -e config.h ] || : >config.h
	[ -z "$edit" ] || find . -type f -name '*.[ch]*' -exec sed -E -i "$edit" {} +
	! grep -rqE '\<time ?\((NULL|0|nullptr)\)|random_device' . || seed_by_constant
	! grep -rq 'linear<' . || texture_by_pointer
	# shellcheck disable=SC2035,SC2046,SC2086
	cuda -o "$programs/$name/$name" ${compile:-$(ls *.cu *.cpp *.cc *.c 2>/dev/null)}
	strip "$programs/$name/$name"
	[ -z "$kernel" ] || for source in *_kernel.cu; do # module files that the program loads
		cuda "-$kernel" -o "$programs/$name/${source%.cu}64.$kernel" "$source"
	done
	# shellcheck disable=SC2086
	[ -z "$data" ] || cp -R $data "$programs/$name/"
	cd "$programs/$name"
	generate "$make"
	args=$(arguments)
	[ -z "$args" ] || echo "$args" >args
	[ -z "$filter" ] || printf '%s\n' "$filter" >filter
	[ -z "$limit" ] || echo "$limit" >limit
	[ -z "$unordered" ] || : >unordered
}

# ---- all of them ----

if [ "${1:-}" = --one ]; then # started by xargs below
	name=$2
	exec >"$build/$name.log" 2>&1
	trap 'rm -rf "${programs:?}/$name"' EXIT
	one
	trap - EXIT
	echo "$name" >>"$build/built"
	exit 0
fi
[ $# -gt 0 ] || set -- '*'
cat >"$programs/filter" <<'END'
s/NVIDIA [A-Z]+[0-9]+( [A-Z0-9]+)*|heddle virtual GPU/GPU/g
/time|elapsed|throughput|bandwidth|speed|clock|seconds?|\<([mun]?s|[mun]?secs?)\>|[kmgt]?i?b(yte)?s?\/s|flop|[a-z]\/s(ec)?\>/I{
	s/[-+]?(\<nan\>|\<inf\>|[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?)/#/Ig
	s/[[:blank:]]+/ /g
	s/ #/#/g
}
/\<[gt]?ops\>/Is/[0-9]+(\.[0-9]*)?/#/g
s/0x[0-9a-f]{6,}/0x#/Ig
/\<MP\(s\)|Cores|multi[- ]?processors?\>|Global Memory/Is/[0-9]+(\.[0-9]*)?/#/g
END
mkdir -p "$build"
: >"$build/built"
names | while read -r name; do
	for pattern; do
		# shellcheck disable=SC2254
		case $name in
		$pattern)
			echo "$name"
			break
			;;
		esac
	done
done >"$build/wanted"
xargs -P "${JOBS:-$(nproc)}" -I{} sh "$0" "$sources" "$programs" --one {} <"$build/wanted" || :
for suite in 'cs cuda-samples NVIDIA/cuda-samples' 'hec HeCBench zjin-lcf/HeCBench' 'shoc shoc vetter/shoc' \
	'rod gpu-rodinia yuhc/gpu-rodinia' 'par Parboil abduld/Parboil' \
	'poly PolyBench-ACC cavazos-lab/PolyBench-ACC' 'own heddle -'; do
	# shellcheck disable=SC2086
	set -- $suite
	commit=$(cat "$sources/$2.commit" 2>/dev/null || git -C "$sources/$2" rev-parse --short HEAD 2>/dev/null || echo -)
	for folder in "$programs/$1"-*/; do
		[ ! -d "$folder" ] || printf '%s\t%s\t%s\t%s\n' "$(basename "$folder")" "$2" "$3" "$commit"
	done
done >"$programs/LIST"
grep -vxF -f "$build/built" "$build/wanted" | sed 's/$/: not built/' || :
echo "built: $(wc -l <"$build/built") of $(wc -l <"$build/wanted"); logs are in $build"
[ "$(wc -l <"$build/built")" = "$(wc -l <"$build/wanted")" ]
