/** `limits.total`: what the runs of a plan, played one after the other or at once, may use together. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { spentBy } from '../experiment/ledger.js';
import { createBudget, plus, type SharedBudget } from '../experiment/limits.js';
import { readManifest, readRun, runFiles } from '../runs/reader.js';
import type { RunDirectory } from '../runs/writer.js';
import type { Plan } from './plan.js';

export class SharedLimits {
  readonly #all = createBudget();
  /** Milliseconds of each run that has begun: of one that is being played, up to its last iteration. */
  readonly #activeMs = new Map<string, () => number>();

  /** Reads what the runs in `directory` have used: the log of each once. */
  constructor({ entries }: Plan, directory: string) {
    for (const entry of entries) {
      const path = join(directory, entry.path);
      if (!existsSync(join(path, runFiles.manifest))) continue;
      this.#all.spent = plus(this.#all.spent, spentBy(readRun(path).calls, entry.config));
      const { activeMs } = readManifest(path);
      this.#activeMs.set(path, () => activeMs);
    }
  }

  /** The limits as the run in `directory` sees them; what it uses counts for all. */
  of(directory: RunDirectory): SharedBudget {
    const activeMs = this.#activeMs;
    activeMs.set(directory.path, () => directory.manifest.activeMs);
    return {
      all: this.#all,
      get otherMs() {
        return [...activeMs].reduce((sum, [path, ms]) => (path === directory.path ? sum : sum + ms()), 0);
      },
    };
  }
}
