/** `policyloop mcp`: offers commands as tools of the Model Context Protocol, over standard input and output. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Command } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { messageOf, UserError } from '../base/errors.js';
import { packageVersion } from '../base/package.js';
import type { RunFolders } from '../runs/listing/listing.js';
import { requireConfined } from '../runs/listing/names.js';
import { type LaunchedRun, launchResumption, launchRun } from './launch.js';
import { type Tool, tools } from './tools.js';

/** A command and the defaults of its arguments. */
export interface LoadedCommand {
  readonly command: Command<unknown>;
  readonly defaults: Readonly<Record<string, unknown>>;
}

export type LoadCommand = (words: string) => Promise<LoadedCommand>;

export interface McpRequest {
  readonly runsDir: string;
  readonly allowRuns: boolean;
}

/** Maximum length of a result in bytes; the client's model reads all of it. */
const maxResultBytes = 4 * 2 ** 20;

/**
 * Serves until the client closes the input or the first signal arrives.
 * @throws UserError if the protocol's package isn't installed
 */
export async function serveMcp(
  request: McpRequest,
  load: LoadCommand,
  context: CommandContext,
): Promise<void> {
  const { McpServer, serveStdio } = await loadProtocol();
  const offeredTools = tools.filter(({ isReadOnly }) => isReadOnly || request.allowRuns);
  const connection = serveStdio(
    () => {
      const server = new McpServer(
        { name: 'policyloop', version: packageVersion() },
        { instructions: instructions(request) },
      );
      for (const tool of offeredTools) {
        const { description, input, name, isReadOnly } = tool;
        const annotations = { readOnlyHint: isReadOnly, destructiveHint: false, openWorldHint: false };
        server.registerTool(
          name,
          {
            description,
            inputSchema: input,
            annotations,
          },
          (args: unknown) => runTool(tool, args as Record<string, unknown>, request, load, context),
        );
      }
      return server;
    },
    { onerror: (error) => context.note(messageOf(error)) },
  );
  await new Promise<void>((resolve) => {
    process.stdin.once('close', () => resolve());
    process.stdin.once('end', () => resolve());
    context.stop.finish.addEventListener('abort', () => resolve(), { once: true });
  });
  await connection.close();
}

async function loadProtocol() {
  try {
    const [{ McpServer }, { serveStdio }] = await Promise.all([
      import('@modelcontextprotocol/server'),
      import('@modelcontextprotocol/server/stdio'),
    ]);
    return { McpServer, serveStdio };
  } catch {
    throw new UserError({
      message: 'the package @modelcontextprotocol/server is not installed',
      hint: 'run npm install @modelcontextprotocol/server, or run the commands directly with --json',
    });
  }
}

const instructions = ({ allowRuns, runsDir }: McpRequest) =>
  `policyloop experiments in ${runsDir}. Judge a run by its confirmed return with its 95 % interval (show_run), compared with baselines that have the same budget (compare_runs); the best observed return is optimistic.${allowRuns ? '' : ' To start and stop runs, restart the server with --allow-runs.'}`;

interface ToolResult extends Record<string, unknown> {
  readonly result: unknown;
  readonly notes?: readonly string[];
}

/** Runs a tool. Never throws: errors become results. */
export async function runTool(
  tool: Tool,
  args: Record<string, unknown>,
  request: McpRequest,
  load: LoadCommand,
  context: CommandContext,
): Promise<CallToolResult> {
  try {
    requirePathsWithin(args, { cwd: context.cwd, runsDir: request.runsDir });
    const result = await (tool.launches
      ? launch(tool, args, request, context)
      : execute(tool, args, request, load, context));
    const text = JSON.stringify(result);
    if (Buffer.byteLength(text) > maxResultBytes)
      throw new UserError({
        message: 'the result is too long',
        hint: 'request less: set limit or top, or choose fewer runs or a single candidate',
      });
    return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) as ToolResult };
  } catch (error) {
    return { content: [{ type: 'text', text: messageOf(error) }], isError: true };
  }
}

/** @throws UserError if a path or link leads outside the server's directories */
function requirePathsWithin(args: Record<string, unknown>, folders: RunFolders): void {
  const { config, configs, run, runs } = args;
  for (const name of [config, run, configs, runs].flat())
    if (typeof name === 'string') requireConfined(name, folders);
}

async function launch(
  { name }: Tool,
  args: Record<string, unknown>,
  { runsDir }: McpRequest,
  context: CommandContext,
): Promise<{ readonly result: LaunchedRun }> {
  const result = await (name === 'run'
    ? launchRun(args as Parameters<typeof launchRun>[0], runsDir, context)
    : launchResumption(args as Parameters<typeof launchResumption>[0], runsDir, context));
  return { result };
}

/** Runs the command as if from the command line; the last line of its output is the result. */
async function execute(
  tool: Tool,
  args: Record<string, unknown>,
  { runsDir }: McpRequest,
  load: LoadCommand,
  outerContext: CommandContext,
): Promise<ToolResult> {
  const { command, defaults } = await load(tool.command);
  const [printed, notes]: [string[], string[]] = [[], []];
  const { cwd, env, milliseconds, now, stop } = outerContext;
  const context: CommandContext = {
    cwd,
    env,
    milliseconds,
    now,
    stop,
    terminal: undefined,
    print: (text) => printed.push(text),
    note: (text) => notes.push(text),
  };
  const { overrides = [], ...rest } = args;
  const configs =
    'configs' in rest ? { configs: [...(rest.configs as string[]), ...(overrides as string[])] } : {};
  await command.execute({ ...defaults, ...rest, ...configs, ...tool.presets, runsDir, json: true }, context);
  const last = printed.at(-1);
  if (last === undefined)
    throw new UserError({ message: notes.join('\n') || 'the command printed no result' });
  const result = JSON.parse(last) as unknown;
  return { result: tool.shorten?.(result, args) ?? result, ...(notes.length > 0 && { notes }) };
}
