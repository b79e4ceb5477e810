/** What the commands of `finetune hosted` share: the server, the job that is meant, and how failures are told. */
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import { type CommandContext, exitCodes } from '../../src/context.js';
import { type OpenAIServer, openaiServer } from '../../src/models/hosted/openai-access.js';
import { waitOnClock } from '../../src/models/hosted/retry.js';
import { ModelError } from '../../src/models/language-model.js';
import { type JobRecord, readRecord } from '../hosted/job-record.js';
import { type FineTuningService, openService } from '../hosted/service.js';

export interface ServerArguments {
  readonly baseUrl?: string | undefined;
  readonly apiKeyEnv?: string | undefined;
  readonly json: boolean;
}

export interface JobArguments extends ServerArguments {
  readonly job: string;
}

interface Connection {
  readonly server: OpenAIServer;
  readonly service: FineTuningService;
  readonly keyName: string;
}

export function connect(
  args: ServerArguments,
  record: JobRecord | undefined,
  context: CommandContext,
): Connection {
  const keyName = args.apiKeyEnv ?? record?.apiKeyEnv ?? 'OPENAI_API_KEY';
  const server = openaiServer({ baseUrl: args.baseUrl ?? record?.baseUrl, apiKeyEnv: keyName }, context.env, {
    baseUrl: '--base-url',
    apiKeyEnv: '--api-key-env',
  });
  return { server, keyName, service: openService(server, keyName, waitOnClock, context.stop.finish) };
}

/** A job by the file that `start` wrote, or by its id. */
export function connectTo(args: JobArguments, context: CommandContext) {
  const file = resolve(context.cwd, args.job);
  const record = readRecord(file);
  return { ...connect(args, record, context), record, file, id: record?.id ?? args.job };
}

/** The address without what might be secret in it. */
export function placeOf({ baseUrl }: OpenAIServer): string {
  return `${baseUrl.origin}${baseUrl.pathname}`.replace(/\/$/, '');
}

/** A server that fails is no bug of ours; a stop is no failure. */
export async function reporting(
  context: CommandContext,
  command: () => Promise<number>,
  stopped = 'stopped; policyloop finetune hosted list shows the jobs there are',
): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (context.stop.finish.aborted) {
      context.note(stopped);
      return exitCodes.interrupted;
    }
    if (!(error instanceof ModelError)) throw error;
    context.note(`${styleText('red', 'error')} ${error.message}`);
    return exitCodes.failure;
  }
}
