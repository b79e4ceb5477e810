/** Just enough of an XML reader to check pictures that were written. */

export interface TreeElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly TreeElement[];
  /** Its own, without that of its children. */
  readonly text: string;
}

interface OpenElement extends TreeElement {
  readonly children: OpenElement[];
  text: string;
}

/** The root element. @throws Error where the document is not well-formed */
export function elementTree(document: string): TreeElement {
  const top: OpenElement = { name: '', attributes: {}, children: [], text: '' };
  const open: OpenElement[] = [top];
  const pattern = /<(\/?)([a-zA-Z]+)((?:\s+[a-zA-Z:-]+="[^"<>]*")*)\s*(\/?)>|([^<]+)|(.)/gsu;
  for (const [whole, closing, name = '', attributes = '', selfClosing, text, stray] of document.matchAll(
    pattern,
  )) {
    if (stray !== undefined) throw new Error(`no tag at ${whole}`);
    if (text !== undefined) open.at(-1)!.text += unescaped(text);
    else if (closing === '/') {
      const expected = open.pop()!;
      if (expected.name !== name) throw new Error(`</${name}> closes <${expected.name}>`);
    } else {
      const element: OpenElement = { name, attributes: attributesOf(attributes), children: [], text: '' };
      open.at(-1)!.children.push(element);
      if (selfClosing !== '/') open.push(element);
    }
  }
  if (open.length !== 1 || top.children.length !== 1) throw new Error('not one whole element');
  return top.children[0]!;
}

function attributesOf(text: string): Readonly<Record<string, string>> {
  const attributes: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(/([a-zA-Z:-]+)="([^"]*)"/g)) {
    if (name in attributes) throw new Error(`${name} twice`);
    attributes[name] = unescaped(value);
  }
  return attributes;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function unescaped(text: string): string {
  return text.replace(/&([^;]*);?/g, (whole, name: string) => {
    const character = entities[name];
    if (character === undefined) throw new Error(`no entity ${whole}`);
    return character;
  });
}
