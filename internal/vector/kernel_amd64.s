#include "textflag.h"

// Both functions take four rows at a time and the rest one by one. A row is summed in 16 lanes, a Z register or a lower and an
// upper Y register; SUM folds the lanes in one order for both; the values beyond a multiple of 16 follow one by one.
//
// Registers: BX query, SI row, R8 bytes of a row, R9 three times that, CX rows left, DI out, R10 groups of 16, R11 values
// beyond them; AX and DX walk over the query and the rows, R12 counts.

// SUM folds lower lanes Y(lo) and upper lanes Y(hi) into lane 0 of X(lo).
#define SUM(lo, hi, xlo, xhi) \
	VADDPS hi, lo, lo; \
	VEXTRACTF128 $1, lo, xhi; \
	VADDPS xhi, xlo, xlo; \
	VPERMILPS $0x4e, xlo, xhi; \
	VADDPS xhi, xlo, xlo; \
	VPERMILPS $0xb1, xlo, xhi; \
	VADDPS xhi, xlo, xlo;

#define ARGUMENTS \
	MOVQ query+0(FP), BX; \
	MOVQ data+8(FP), SI; \
	MOVQ dim+16(FP), R10; \
	MOVQ rows+24(FP), CX; \
	MOVQ out+32(FP), DI; \
	MOVQ R10, R8; \
	SHLQ $2, R8; \
	LEAQ (R8)(R8*2), R9; \
	MOVQ R10, R11; \
	ANDQ $15, R11; \
	SHRQ $4, R10;

// TAIL4 adds value AX of the query times four rows, TAIL1 times one.
#define TAIL4 \
	VMOVSS (AX), X8; \
	VFMADD231SS (DX), X8, X0; \
	VFMADD231SS (DX)(R8*1), X8, X2; \
	VFMADD231SS (DX)(R8*2), X8, X4; \
	VFMADD231SS (DX)(R9*1), X8, X6; \
	ADDQ $4, AX; \
	ADDQ $4, DX;

#define TAIL1 \
	VMOVSS (AX), X8; \
	VFMADD231SS (DX), X8, X0; \
	ADDQ $4, AX; \
	ADDQ $4, DX;

#define STORE4 \
	VMOVSS X0, (DI); \
	VMOVSS X2, 4(DI); \
	VMOVSS X4, 8(DI); \
	VMOVSS X6, 12(DI); \
	ADDQ $16, DI; \
	LEAQ (SI)(R8*4), SI; \
	SUBQ $4, CX;

// func dotsAVX2(query, data *float32, dim, rows int, out *float32)
TEXT ·dotsAVX2(SB), NOSPLIT, $0-40
	ARGUMENTS
	SUBQ $4, CX
	JLT  single
four:
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	MOVQ   BX, AX
	MOVQ   SI, DX
	MOVQ   R10, R12
	TESTQ  R12, R12
	JZ     fold4
loop4:
	VMOVUPS     (AX), Y8
	VMOVUPS     32(AX), Y9
	VFMADD231PS (DX), Y8, Y0
	VFMADD231PS 32(DX), Y9, Y1
	VFMADD231PS (DX)(R8*1), Y8, Y2
	VFMADD231PS 32(DX)(R8*1), Y9, Y3
	VFMADD231PS (DX)(R8*2), Y8, Y4
	VFMADD231PS 32(DX)(R8*2), Y9, Y5
	VFMADD231PS (DX)(R9*1), Y8, Y6
	VFMADD231PS 32(DX)(R9*1), Y9, Y7
	ADDQ        $64, AX
	ADDQ        $64, DX
	DECQ        R12
	JNZ         loop4
fold4:
	SUM(Y0, Y1, X0, X1)
	SUM(Y2, Y3, X2, X3)
	SUM(Y4, Y5, X4, X5)
	SUM(Y6, Y7, X6, X7)
	MOVQ  R11, R12
	TESTQ R12, R12
	JZ    store4
tail4:
	TAIL4
	DECQ R12
	JNZ  tail4
store4:
	STORE4
	JGE four
single:
	ADDQ $4, CX
	JLE  done
one:
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	MOVQ   BX, AX
	MOVQ   SI, DX
	MOVQ   R10, R12
	TESTQ  R12, R12
	JZ     fold1
loop1:
	VMOVUPS     (AX), Y8
	VMOVUPS     32(AX), Y9
	VFMADD231PS (DX), Y8, Y0
	VFMADD231PS 32(DX), Y9, Y1
	ADDQ        $64, AX
	ADDQ        $64, DX
	DECQ        R12
	JNZ         loop1
fold1:
	SUM(Y0, Y1, X0, X1)
	MOVQ  R11, R12
	TESTQ R12, R12
	JZ    store1
tail1:
	TAIL1
	DECQ R12
	JNZ  tail1
store1:
	VMOVSS X0, (DI)
	ADDQ   $4, DI
	ADDQ   R8, SI
	DECQ   CX
	JNZ    one
done:
	VZEROUPPER
	RET

// func dotsAVX512(query, data *float32, dim, rows int, out *float32)
TEXT ·dotsAVX512(SB), NOSPLIT, $0-40
	ARGUMENTS
	SUBQ $4, CX
	JLT  single
four:
	VPXORQ Z0, Z0, Z0
	VPXORQ Z2, Z2, Z2
	VPXORQ Z4, Z4, Z4
	VPXORQ Z6, Z6, Z6
	MOVQ   BX, AX
	MOVQ   SI, DX
	MOVQ   R10, R12
	TESTQ  R12, R12
	JZ     fold4
loop4:
	VMOVUPS     (AX), Z8
	VFMADD231PS (DX), Z8, Z0
	VFMADD231PS (DX)(R8*1), Z8, Z2
	VFMADD231PS (DX)(R8*2), Z8, Z4
	VFMADD231PS (DX)(R9*1), Z8, Z6
	ADDQ        $64, AX
	ADDQ        $64, DX
	DECQ        R12
	JNZ         loop4
fold4:
	VEXTRACTF64X4 $1, Z0, Y1
	VEXTRACTF64X4 $1, Z2, Y3
	VEXTRACTF64X4 $1, Z4, Y5
	VEXTRACTF64X4 $1, Z6, Y7
	SUM(Y0, Y1, X0, X1)
	SUM(Y2, Y3, X2, X3)
	SUM(Y4, Y5, X4, X5)
	SUM(Y6, Y7, X6, X7)
	MOVQ          R11, R12
	TESTQ         R12, R12
	JZ            store4
tail4:
	TAIL4
	DECQ R12
	JNZ  tail4
store4:
	STORE4
	JGE four
single:
	ADDQ $4, CX
	JLE  done
one:
	VPXORQ Z0, Z0, Z0
	MOVQ   BX, AX
	MOVQ   SI, DX
	MOVQ   R10, R12
	TESTQ  R12, R12
	JZ     fold1
loop1:
	VMOVUPS     (AX), Z8
	VFMADD231PS (DX), Z8, Z0
	ADDQ        $64, AX
	ADDQ        $64, DX
	DECQ        R12
	JNZ         loop1
fold1:
	VEXTRACTF64X4 $1, Z0, Y1
	SUM(Y0, Y1, X0, X1)
	MOVQ          R11, R12
	TESTQ         R12, R12
	JZ            store1
tail1:
	TAIL1
	DECQ R12
	JNZ  tail1
store1:
	VMOVSS X0, (DI)
	ADDQ   $4, DI
	ADDQ   R8, SI
	DECQ   CX
	JNZ    one
done:
	VZEROUPPER
	RET
