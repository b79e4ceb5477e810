import { UserError } from '../../src/errors.js';

/** A word of a shell command that stands for exactly this text. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * A value for a line `#SBATCH --option=value`, which no quoting makes safe.
 * @throws UserError unless it is one word of letters, digits and `_.:,@+-`
 */
export function sbatchValue(option: string, value: string): string {
  if (/^[\w.:,@+-]+$/.test(value) && !value.startsWith('-')) return value;
  throw new UserError({
    field: option,
    message: 'give one word of letters, digits and _ . : , @ + -',
    value,
  });
}

/** @throws UserError unless it is a time limit as Slurm writes it */
export function slurmTime(value: string): string {
  if (/^(\d+|\d+:\d\d|\d+:\d\d:\d\d|\d+-\d+(:\d\d){0,2})$/.test(value)) return value;
  throw new UserError({
    field: '--time',
    message: 'this is no time limit of Slurm',
    value,
    alternatives: ['90 (minutes)', '4:00:00', '2-12:00:00 (days first)'],
  });
}
