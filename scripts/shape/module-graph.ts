/** Reads the modules of a checkout and their imports, including types, from the syntax trees. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { type Node, parseSync } from 'oxc-parser';

export interface SourceModule {
  /** Path relative to the checkout, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly program: Node;
  /** Modules of the checkout that it imports, including types and dynamic imports. */
  readonly imports: readonly string[];
}

/** All TypeScript modules below the given folders. */
export function readModules(root: string, folders: readonly string[]): readonly SourceModule[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name}`,
      ),
    )
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .toSorted()
    .map((path) => readModule(root, path));
}

function readModule(root: string, path: string): SourceModule {
  const text = readFileSync(join(root, path), 'utf8');
  const { module, program } = parseSync(path, text);
  const dynamic = module.dynamicImports
    .map(({ moduleRequest }) => text.slice(moduleRequest.start, moduleRequest.end))
    .filter((source) => /^'.*'$/.test(source))
    .map((source) => source.slice(1, -1));
  const named = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
    ),
    ...dynamic,
  ];
  const own = named
    .filter((name) => name.startsWith('.'))
    .map((name) => normalize(join(dirname(path), name)).replace(/\.js$/, '.ts'));
  return { path, text, program, imports: [...new Set(own)] };
}

/** The folders whose modules each folder imports. */
export function folderGraph(modules: readonly SourceModule[]): ReadonlyMap<string, ReadonlySet<string>> {
  const graph = new Map<string, Set<string>>();
  for (const { path, imports } of modules) {
    const from = dirname(path);
    const targets = graph.get(from) ?? new Set();
    graph.set(from, targets);
    for (const target of imports) if (dirname(target) !== from) targets.add(dirname(target));
  }
  return graph;
}

export const fileGraph = (modules: readonly SourceModule[]): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(modules.map(({ path, imports }) => [path, new Set(imports)]));

/** The strongly connected components with more than one node (Tarjan 1972); they contain all cycles. */
export function circles(graph: ReadonlyMap<string, ReadonlySet<string>>): readonly (readonly string[])[] {
  const index = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): void => {
    index.set(node, index.size);
    lowest.set(node, index.get(node)!);
    stack.push(node);
    for (const target of graph.get(node) ?? []) {
      if (!index.has(target)) visit(target);
      if (stack.includes(target)) lowest.set(node, Math.min(lowest.get(node)!, lowest.get(target)!));
    }
    if (lowest.get(node) !== index.get(node)) return;
    const component = stack.splice(stack.indexOf(node));
    if (component.length > 1) found.push(component.toSorted());
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return found;
}

/** Number of nodes in the longest chain of imports; a cycle counts as one node. */
export function floors(graph: ReadonlyMap<string, ReadonlySet<string>>): number {
  const component = new Map([...graph.keys()].map((node) => [node, node]));
  for (const circle of circles(graph)) for (const node of circle) component.set(node, circle[0]!);
  const condensed = new Map<string, Set<string>>();
  for (const [node, targets] of graph) {
    const from = component.get(node)!;
    const into = condensed.get(from) ?? new Set();
    condensed.set(from, into);
    for (const target of targets) {
      const to = component.get(target);
      if (to !== undefined && to !== from) into.add(to);
    }
  }
  const heights = new Map<string, number>();
  const height = (node: string): number => {
    const known = heights.get(node);
    if (known !== undefined) return known;
    const value = 1 + Math.max(0, ...[...(condensed.get(node) ?? [])].map(height));
    heights.set(node, value);
    return value;
  };
  return Math.max(0, ...[...condensed.keys()].map(height));
}
