/** Normalises a reply: replaces typographic characters, and removes markup and comments. */
const signs = '\r\v\f*`\u201c\u201d\u2028\u2029\uff0c\u3001\uff1b\uff1a\uff1d\u3002\uff08\uff09';
const plainSigns = '       \n\n,,;:=.()';

/** Blanks out emphasis, code marks and LaTeX, and replaces typographic characters; positions don't change. */
function undecorated(text: string): string {
  return text
    .replace(
      /[\r\v\f*`\u201c\u201d\u2028\u2029\uff0c\u3001\uff1b\uff1a\uff1d\u3002\uff08\uff09]/g,
      (sign) => plainSigns[signs.indexOf(sign)]!,
    )
    .replace(/^\ufeff|[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, ' ')
    .replace(/[\u2212\u2010-\u2013\ufe63\uff0d]/g, '-')
    .replace(/(?<![\d$])\$\$?(?=[^\s$])([^$\n]{0,4000}[^\s$])\$\$?(?!\d)/g, (all) => all.replaceAll('$', ' '))
    .replace(/\\boxed\{/g, '\nfinal:')
    .replace(/"(param[^"\n]{0,4000})"(?!\s*:)/gi, ' $1 ')
    .replace(
      /(\\(?:text|math)[a-z]{0,9}\{)([^{}\n]{0,400})\}/g,
      (_, mark: string, content: string) => `${' '.repeat(mark.length)}${content} `,
    )
    .replace(/\\q?quad\b|\\\\(?=[ \t]*(?:\n|$))|&(?= ?=)|\\(?:left|right)(?=[\s[\](){}])/g, blank)
    .replace(/\\(.)/gs, (all, next: string) => ('"\'\\'.includes(next) ? all : ` ${next}`));
}

export const blank = (text: string) => text.replace(/[^\n]/g, ' ');

/** Blanks out fences, code comments and JSON strings; also returns the positions of the fences. */
export function prepared(raw: string): { plain: string; fences: readonly number[] } {
  const fences: number[] = [];
  let at = 0;
  const lines = raw.split('\n').map((line) => {
    const isFence = /^[ \t>]{0,8}(?:```|~~~)[^`]*$/.test(line);
    if (isFence) fences.push(at);
    at += line.length + 1;
    return isFence || (fences.length % 2 === 1 && /^[ \t]*(?:#|\/\/)/.test(line)) ? blank(line) : line;
  });
  const plain = undecorated(lines.join('\n')).replace(
    /("(?!param)[\w ]{1,40}"\s{0,8}:\s{0,8}")([^"\\]*(?:\\.[^"\\]*)*)/gis,
    (_, entry: string, content: string) => entry + blank(content),
  );
  return { plain, fences };
}
