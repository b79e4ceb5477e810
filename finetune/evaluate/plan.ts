/** The plan of an evaluation: every config with every arm's model and every seed. */
import { createHash } from 'node:crypto';
import { UserError } from '../../src/base/errors.js';
import type { PlanPlace } from '../../src/studies/open.js';
import { planStudy, type StudyPlan } from '../../src/studies/study.js';
import type { Arm } from './arms.js';

export type EvaluationPlan = StudyPlan<Arm>;

/**
 * @param files configs, by path or by the name of a bundled one
 * @param overrides for all arms; model overrides apply only to language models
 * @param seed first root seed (default: the first config's)
 * @throws UserError if a config is unusable, or an override would invalidate the comparison
 */
export function planEvaluation(request: {
  readonly arms: readonly Arm[];
  readonly files: readonly string[];
  readonly overrides: readonly string[];
  readonly seed: number | undefined;
  readonly repeats: number;
  readonly cwd: string;
}): { readonly plan: EvaluationPlan; readonly notes: readonly string[] } {
  return planStudy({ kind: 'evaluation', ...request, field: '--configs', reserved });
}

const namedArms = 'the arms are named by --base and --tuned';

const reserved: Readonly<Record<string, string>> = {
  model: namedArms,
  'model.provider': namedArms,
  'model.path': namedArms,
  'model.adapter': namedArms,
  'model.name': namedArms,
  environment: 'the configs say it; name others by --configs',
  seed: 'use --seed',
  repeats: 'use --repeats',
};

/** Hash of everything that affects the results except the number of repeats. */
function planHash({ arms, experiments, seeds }: EvaluationPlan): string {
  const content = [arms.map(({ name, hash }) => [name, hash]), experiments, seeds[0]];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

/** Default directory name, so the same command finds its evaluation again. */
export const defaultName = (plan: EvaluationPlan) => `evaluate-${planHash(plan).slice(0, 10)}`;

/**
 * Directory and record of an evaluation. `record` throws a UserError if the directory has a different
 * evaluation; more repeats may be added.
 */
export function evaluationPlace(directory: string, plan: EvaluationPlan): PlanPlace {
  const hash = planHash(plan);
  const record = (written: unknown) => {
    if (written !== undefined && (written as { readonly hash?: unknown } | null)?.hash !== hash) {
      throw new UserError({
        field: '--out',
        message:
          'holds an evaluation of other models, configs, overrides or seeds (or the weights were changed)',
        value: directory,
        remedy: 'name another directory, or none: each evaluation then has its own',
      });
    }
    const arms = plan.arms.map(({ name, label, hash: weights }) => ({ name, label, weights }));
    return { version: 1, kind: 'evaluation', hash, arms, seeds: plan.seeds, experiments: plan.experiments };
  };
  return { directory, record };
}
