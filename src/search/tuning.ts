import type { ProgramConstant } from '../policies/programs/program.js';
import type { RandomGenerator } from '../random/generator.js';
export function createTuner(_by: string) {
  return {
    async propose(
      _c: readonly ProgramConstant[],
      _h: readonly { values: readonly number[]; score: number }[],
      _r: RandomGenerator,
    ): Promise<readonly number[]> {
      throw new Error('pending');
    },
  };
}
export function tuningDue(
  _e: readonly {
    readonly parameters: readonly number[];
    readonly score: number;
    readonly tuned: boolean;
    readonly isProposal: boolean;
  }[],
  _t: object,
  _c: (entry: { readonly parameters: readonly number[] }) => number,
): number | undefined {
  return undefined;
}
