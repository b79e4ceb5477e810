/** Formats training runs as text: a table of several, or a description of one. */
import { basename, isAbsolute, join } from 'node:path';
import { styleText } from 'node:util';
import { shownPath } from '../../base/context.js';
import { formatCompact, formatCount, formatDuration, formatNumber, plural } from '../../base/text/numbers.js';
import { shellWord } from '../../base/text/one-line.js';
import { number, terminalTable, text } from '../../base/text/table.js';
import { shownModelPath } from '../../models/local/settings.js';
import { trainingFiles } from '../training-files.js';
import { bestMeasurementText, episodesText, measurementText, type RecordedTraining } from './trainings.js';

export function trainingTable(
  trainingRuns: readonly (RecordedTraining & { readonly number: number })[],
  cwd: string,
  width?: number,
): string {
  return terminalTable(
    trainingRuns,
    [
      number('#', (training) => training.number),
      text('training', ({ path }) => shownPath(path, cwd)),
      text('status', ({ status }) => status),
      text('model', ({ model }) => model && basename(model)),
      text('objective', ({ objective }) => objective),
      text('trained on', ({ on }) => on && basename(on)),
      number('steps', ({ steps }) => `${steps.done}/${steps.of}`),
      text('best', bestMeasurementText),
      text('started (UTC)', ({ started }) => started?.slice(0, 16).replace('T', ' ')),
    ],
    width,
  );
}

/** A training run in `list --json` and `show --json`. */
export interface TrainingJson extends RecordedTraining {
  readonly name: string;
  readonly report: string;
}

export function trainingJson(training: RecordedTraining, cwd: string): TrainingJson {
  const { path, result } = training;
  return {
    name: shownPath(path, cwd),
    ...training,
    result: result && shownPath(result, cwd),
    report: shownPath(join(path, trainingFiles.page), cwd),
  };
}

/** Output of `show` for a training run. */
export function trainingText(training: RecordedTraining, cwd: string): string {
  const { alarms, episodes, final, note, path, seconds, status, steps, tokens, unit } = training;
  const noteText = note === null || status === 'running' ? '' : `: ${note}`;
  const amounts = [
    ...(episodes === null ? [] : [plural(episodes, 'episode')]),
    ...(tokens === null ? [] : [`${formatCompact(tokens)} ${episodes === null ? '' : 'sampled '}tokens`]),
  ];
  const alarmsByMessage = new Map(alarms.map((alarm) => [alarm.message, alarm]));
  const lines: (readonly [string, string] | undefined)[] = [
    ['trained', trainedText(training, cwd)],
    ['best', bestText(training)],
    amounts.length > 0 ? ['trained on', amounts.join(', ')] : undefined,
    final.length === 0
      ? undefined
      : [
          'at the end',
          `${training.best?.name.replace('held-out ', '') ?? 'mean return'}: ${final.map(({ name, meanReturn }) => `${name} ${formatNumber(meanReturn, 4)}`).join(', ')}`,
        ],
    ...[...alarmsByMessage.values()].map(
      ({ message, hint, step }) =>
        ['alarm', `${unit} ${step}: ${message}${hint === null ? '' : `\n  hint: ${hint}`}`] as const,
    ),
    ...resultLines(training, cwd),
    ['report', shownPath(join(path, trainingFiles.page), cwd)],
  ];
  return [
    styleText('bold', `${shownPath(path, cwd)}  ${status}${noteText}`),
    `${formatCount(steps.done)} of ${plural(steps.of, unit)}, ${formatDuration(1000 * seconds)}`,
    '',
    ...lines.flatMap((line) => (line === undefined ? [] : `${line[0].padEnd(12)}${line[1]}`)),
  ].join('\n');
}

function trainedText({ method, model, objective, on, unit }: RecordedTraining, cwd: string): string {
  if (model === null || on === null) return 'unknown, because training has not started';
  const sourceText = unit === 'update' ? `in ${on}` : `on ${shownPath(on, cwd)}`;
  return `${modelText(model, cwd)} (${method}) with ${objective} ${sourceText}`;
}

/** Shortens a path; the model of a numeric policy may be a description instead. */
const modelText = (model: string, cwd: string) => (isAbsolute(model) ? shownModelPath(model, cwd) : model);

/** Shown if no evaluation selected a result. */
export const notEvaluatedText = (status: RecordedTraining['status']): string =>
  status === 'completed' ? 'no validation' : 'not evaluated yet';

function bestText(training: RecordedTraining): string {
  const { best, first, unit } = training;
  if (best === null) return notEvaluatedText(training.status);
  const margin = best.margin === undefined ? '' : ` ± ${formatNumber(best.margin, 2)}`;
  const firstText =
    first === null || first.step === best.step
      ? ''
      : `; ${measurementText(first)} at ${unit} ${formatCount(first.step)}`;
  return `${best.name} ${measurementText(best)}${margin}${episodesText(best)} at ${unit} ${formatCount(best.step)}${firstText}`;
}

/** Lines with the commands that resume an unfinished training run, and that use or merge its result. */
function resultLines(training: RecordedTraining, cwd: string): readonly (readonly [string, string])[] {
  const { command, folder, path, result, status } = training;
  if (status === 'running') return [];
  const resumeCommand = command === null ? sameCommandHint : `${cdPrefix(folder, cwd)}${command}`;
  const resumeRow = status === 'completed' ? [] : [['resume', resumeCommand] as const];
  if (result === null) return resumeRow;
  const resultPath = shownPath(result, cwd);
  const useCommand = commandToUse(training, cwd);
  return [
    ...resumeRow,
    ['result', resultPath],
    ...(useCommand === null ? [] : [['run it', useCommand] as const]),
    ...(basename(result) === 'adapter'
      ? [
          [
            'merge it',
            `policyloop finetune export ${shellWord(resultPath)} --to merged --out ${shellWord(join(shownPath(path, cwd), 'merged'))}`,
          ] as const,
        ]
      : []),
  ];
}

/** The command that uses the result; null for a numeric policy, or if there is no result. */
export const commandToUse = ({ folder, use }: RecordedTraining, cwd: string): string | null =>
  use === null ? null : `${cdPrefix(folder, cwd)}${use}`;

/** The paths in a recorded command are relative to the folder in which it ran. */
const cdPrefix = (folder: string | null, cwd: string): string =>
  folder === null || folder === cwd ? '' : `cd ${shellWord(folder)} && `;

const sameCommandHint = 'run the command that started it, with the same config and output';
