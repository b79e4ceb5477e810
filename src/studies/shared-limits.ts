/** `limits.total`: what the runs of a plan, played one after the other or at once, may use together. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { spentBy } from '../experiment/ledger.js';
import { createSharedBudget, plus, type SharedBudget } from '../experiment/limits.js';
import { readManifest, readRun, runFiles } from '../runs/reader.js';
import type { RunDirectory } from '../runs/writer.js';
import type { Plan } from './plan.js';

/** What the runs of one plan use of the limits that they share. */
export class SharedLimits {
  readonly #total = createSharedBudget();
  /** Milliseconds of each run that has begun: of one that is being played, up to its last iteration. */
  readonly #activeMs = new Map<string, () => number>();

  /** Reads what the runs in `directory` have used: the log of each once. */
  constructor({ entries }: Plan, directory: string) {
    for (const entry of entries) {
      const path = join(directory, entry.path);
      if (!existsSync(join(path, runFiles.manifest))) continue;
      this.#total.spent = plus(this.#total.spent, spentBy(readRun(path).calls, entry.config));
      const { activeMs } = readManifest(path);
      this.#activeMs.set(path, () => activeMs);
    }
  }

  /** The limits as the run in `directory` sees them; what it uses counts for all. */
  of(directory: RunDirectory): SharedBudget {
    const total = this.#total;
    const activeMs = this.#activeMs;
    activeMs.set(directory.path, () => directory.manifest.activeMs);
    return {
      get spent() {
        return total.spent;
      },
      set spent(spent) {
        total.spent = spent;
      },
      get reserved() {
        return total.reserved;
      },
      set reserved(reserved) {
        total.reserved = reserved;
      },
      get otherMs() {
        let sum = 0;
        for (const [path, ms] of activeMs) if (path !== directory.path) sum += ms();
        return sum;
      },
    };
  }
}
