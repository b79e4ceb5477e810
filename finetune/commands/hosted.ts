/** `policyloop finetune hosted start|follow|cancel|list`: jobs at an OpenAI-compatible fine-tuning API. */
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import { type CommandContext, exitCodes, requireCount } from '../../src/context.js';
import { UserError } from '../../src/errors.js';
import { formatCompact } from '../../src/format/numbers.js';
import { formatTable } from '../../src/format/table.js';
import type { OpenAIServer } from '../../src/models/hosted/openai-access.js';
import { waitOnClock } from '../../src/models/hosted/retry.js';
import { version } from '../../src/package.js';
import { shownPath } from '../../src/runs/facts.js';
import { type JobRecord, recordPath, writeRecord } from '../hosted/job-record.js';
import { type HostedJob, phaseOf } from '../hosted/service.js';
import { type HostedMethod, trainingFiles } from '../hosted/training-file.js';
import {
  connect,
  connectTo,
  type JobArguments,
  placeOf,
  reporting,
  type ServerArguments,
} from './hosted-server.js';

export interface HostedStartArguments extends ServerArguments {
  readonly dataset: string;
  readonly model: string;
  readonly method?: HostedMethod | undefined;
  readonly epochs?: number | undefined;
  readonly seed?: number | undefined;
  readonly suffix?: string | undefined;
}

export interface HostedFollowArguments extends JobArguments {
  /** Seconds. */
  readonly interval: number;
}

export interface HostedListArguments extends ServerArguments {
  readonly limit: number;
}

const providersAddress = 'https://api.openai.com/v1';

/** Uploads the files and makes the job. */
export async function hostedStartCommand(
  args: HostedStartArguments,
  context: CommandContext,
): Promise<number> {
  if (args.epochs !== undefined) requireCount('--epochs', args.epochs, 1);
  if (args.seed !== undefined) requireCount('--seed', args.seed, 0);
  const dataset = resolve(context.cwd, args.dataset);
  const { method, training, validation, warnings } = trainingFiles(dataset, args.method);
  for (const warning of warnings) context.note(`${styleText('yellow', 'note')} ${warning}`);
  return reporting(context, async () => {
    const { server, service, keyName } = connect(args, undefined, context);
    const trainingId = await service.upload('train.jsonl', training.content);
    context.note(`uploaded ${training.rows} examples as ${trainingId}`);
    const validationId = validation && (await service.upload('validation.jsonl', validation.content));
    const { model, epochs, seed, suffix } = args;
    const job = await service.create({
      model,
      method,
      trainingFile: trainingId,
      validationFile: validationId,
      epochs,
      seed,
      suffix,
    });
    const file = recordPath(dataset, job.id);
    const record: JobRecord = {
      version: 1,
      kind: 'hosted-job',
      policyloop: version(),
      id: job.id,
      baseUrl: placeOf(server),
      apiKeyEnv: keyName,
      model,
      method,
      epochs: epochs ?? null,
      seed: seed ?? null,
      dataset: args.dataset,
      files: {
        training: { id: trainingId, rows: training.rows, sha256: training.sha256 },
        validation:
          validation === undefined || validationId === undefined
            ? null
            : { id: validationId, rows: validation.rows, sha256: validation.sha256 },
      },
      startedAt: context.now().toISOString(),
      ...stateOf(job),
    };
    writeRecord(file, record);
    const shown = shownPath(file, context.cwd);
    context.print(
      args.json
        ? JSON.stringify({ job, record: shown, warnings })
        : [
            `job         ${job.id}, ${job.status}`,
            `record      ${shown}`,
            `follow it   policyloop finetune hosted follow ${shown}`,
            'cost        the API names neither price nor limit: see the provider’s pages',
          ].join('\n'),
    );
    return 0;
  });
}

/** Shows events until the job has ended. Ctrl-C ends the following, not the job. */
export async function hostedFollowCommand(
  args: HostedFollowArguments,
  context: CommandContext,
): Promise<number> {
  if (!(args.interval > 0 && args.interval <= 86_400)) {
    throw new UserError({
      field: '--interval',
      message: 'give seconds above 0, up to 86400',
      value: args.interval,
    });
  }
  return reporting(
    context,
    async () => {
      const { service, server, record, file, id } = connectTo(args, context);
      const seen = new Set<string>();
      let status: string | undefined;
      for (;;) {
        const job = await service.retrieve(id);
        for (const event of await service.eventsSince(id, seen)) {
          seen.add(event.id);
          if (args.json) context.print(JSON.stringify({ event }));
          else context.note(`${event.level === 'info' ? '' : `${event.level}: `}${event.message}`);
        }
        if (job.status !== status) {
          status = job.status;
          if (!args.json) context.note(`${id} ${status}`);
          if (record !== undefined) writeRecord(file, { ...record, ...stateOf(job) });
        }
        if (phaseOf(job) !== 'going') return ended(job, server, args, context);
        await waitOnClock(args.interval * 1000, context.stop.finish);
      }
    },
    `the job goes on; policyloop finetune hosted follow ${args.job} follows it again`,
  );
}

function ended(job: HostedJob, server: OpenAIServer, args: ServerArguments, context: CommandContext): number {
  const phase = phaseOf(job);
  const model =
    job.result === undefined
      ? undefined
      : {
          provider: 'openai',
          name: job.result,
          ...(placeOf(server) !== providersAddress && { baseUrl: placeOf(server) }),
        };
  if (args.json) {
    context.print(JSON.stringify({ job, model: model ?? null }));
  } else if (phase === 'succeeded' && model !== undefined) {
    const tokens =
      job.trainedTokens === undefined ? '' : `, ${formatCompact(job.trainedTokens)} tokens trained on`;
    context.print(
      [
        `succeeded   ${job.result}${tokens}`,
        'use it      in a config:',
        `  model: ${JSON.stringify(model)}`,
      ].join('\n'),
    );
  } else {
    context.print(`${job.status.padEnd(11)} ${job.error ?? 'the server gave no reason and no model'}`);
  }
  return phase === 'succeeded' && model !== undefined ? 0 : exitCodes.failure;
}

export async function hostedCancelCommand(args: JobArguments, context: CommandContext): Promise<number> {
  return reporting(context, async () => {
    const { service, record, file, id } = connectTo(args, context);
    const job = await service.cancel(id);
    if (record !== undefined) writeRecord(file, { ...record, ...stateOf(job) });
    context.print(args.json ? JSON.stringify({ job }) : `${job.id} ${job.status}`);
    return 0;
  });
}

export async function hostedListCommand(args: HostedListArguments, context: CommandContext): Promise<number> {
  requireCount('--limit', args.limit, 1);
  return reporting(context, async () => {
    const { service } = connect(args, undefined, context);
    const jobs = await service.list(args.limit);
    if (args.json) {
      context.print(JSON.stringify(jobs));
    } else if (jobs.length === 0) {
      context.print('no jobs');
    } else {
      const rows = jobs.map(({ id, status, model, result, createdAt }) => [
        id,
        status,
        createdAt === undefined
          ? '–'
          : new Date(createdAt * 1000).toISOString().slice(0, 16).replace('T', ' '),
        model ?? '–',
        result ?? '–',
      ]);
      context.print(formatTable(['job', 'status', 'created (UTC)', 'model', 'result'], rows));
    }
    return 0;
  });
}

/** What of a job changes. */
function stateOf({ status, result, trainedTokens, error }: HostedJob) {
  return {
    status,
    result: result ?? null,
    trainedTokens: trainedTokens ?? null,
    error: error ?? null,
  };
}
