export const schedules = ['constant', 'linear', 'cosine'] as const;

export interface Schedule {
  readonly kind: (typeof schedules)[number];
  /** Steps over which the rate rises from 0. */
  readonly warmupSteps: number;
  /** Steps of the whole training; `linear` and `cosine` reach the floor after the last. */
  readonly totalSteps: number;
  /** Share of the peak, in [0, 1]. */
  readonly floor: number;
}

/**
 * Factor of the peak learning rate, in [0, 1]. The first step of a warm-up already moves: step s has (s + 1)/warm-up.
 * @param step 0 for the first
 */
export function scheduleFactor({ kind, warmupSteps, totalSteps, floor }: Schedule, step: number): number {
  if (step < warmupSteps) return (step + 1) / warmupSteps;
  const progress = Math.min(1, (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps));
  switch (kind) {
    case 'constant':
      return 1;
    case 'linear':
      return floor + (1 - floor) * (1 - progress);
    case 'cosine':
      return floor + ((1 - floor) * (1 + Math.cos(Math.PI * progress))) / 2;
  }
}
