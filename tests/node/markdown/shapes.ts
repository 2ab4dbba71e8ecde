import type { Shape } from './measure'

const fill = (part: string, chars: number): string =>
  part.repeat(Math.ceil(chars / part.length)).slice(0, chars)

const repeated =
  (part: string, before = '', after = ''): Shape =>
  (chars) =>
    before + fill(part, chars) + after

/** The parts one after the other, each for an equal number of characters. */
const inTurn =
  (...parts: string[]): Shape =>
  (chars) =>
    parts.map((part) => fill(part, chars / parts.length)).join('')

/** As many equal openings as closings, with `middle` between them. */
const nested =
  (open: string, close: string, middle = 'a', before = ''): Shape =>
  (chars) => {
    const times = Math.floor(chars / (open.length + close.length))
    return before + open.repeat(times) + middle + close.repeat(times)
  }

/** Lines of which each is made from its number. */
const numbered =
  (line: (n: number) => string): Shape =>
  (chars) => {
    let text = ''
    for (let n = 1; text.length < chars; n++) text += line(n)
    return text.slice(0, chars)
  }

/**
 * Texts that made parsers of Markdown slow: from their public tests and reports (cmark, cmark-gfm, commonmark.js,
 * markdown-it, micromark), and those that once held up this hub.
 */
export const shapes: Record<string, Shape> = {
  'JavaScript of quotation marks': repeated("'", '~~~js\n'),
  'JavaScript of escaped quotation marks': repeated('\\"', '~~~js\n"'),
  'JavaScript of comments that nothing closes': repeated('/*/', '~~~js\n'),
  'JavaScript of numbers': repeated('1 ', '~~~js\n'),
  'JavaScript of one long word': repeated('a', '~~~js\n'),
  'many blocks of JavaScript': repeated('~~~js\nif "\n~~~\n'),
  'Rust of lifetimes': repeated("'\\'", '~~~rust\n'),
  'Python of quotation marks': repeated('"""\\', '~~~py\n'),
  'Python of prefixes of strings': repeated('bf', '~~~py\n'),
  'SQL of dashes and quotation marks': repeated("-'/*", '~~~sql\n'),
  'HTML of comments that nothing closes': repeated('<!--', '~~~html\n'),
  'HTML of attributes that nothing closes': repeated('="', '~~~html\n'),
  'a diff of signs': repeated('+\n-\n@', '~~~diff\n'),
  'HTML that nothing closes, and emphasis': repeated('a*', 'x<![CDATA['),
  'a list and short lines': repeated('a\n', '- @x '),
  'a quote and short lines': repeated('a\n', '> @x '),
  'a bracket that nothing closes, and words': repeated(' word', '['),
  'nested strong emphasis': nested('*a **a ', ' a** a*', 'b'),
  'closings of emphasis without openings': repeated('a_ '),
  'openings of emphasis without closings': repeated('_a '),
  'closings of links without openings': repeated('a]'),
  'openings of links without closings': repeated('[a'),
  'openings and closings that differ': repeated('*a_ '),
  'openings and closings of a multiple of three': repeated('c* ', 'a**b'),
  'openings of links and closings of emphasis': repeated('[ a_'),
  'emphasis of many lengths': repeated('a***b**c*'),
  'long runs of emphasis': inTurn('***a ', 'a*** '),
  'crossing emphasis': inTurn('*a ', '_a ', 'a* ', 'a_ '),
  'deleted text of both lengths': repeated('~a~~b '),
  'brackets and parentheses': repeated('[ (]('),
  'nested brackets': nested('[', ']'),
  'nested brackets with a definition': nested('[', ']', 'a', '[a]: b\n\n'),
  'nested links': nested('[a ', '](b)'),
  'nested images': nested('![a', '](b)'),
  'images with a few images in them': repeated('![![![a](b)](c)](d)'),
  'nested quotes': repeated('> ', '', 'a'),
  'nested quotes without spaces': repeated('>', '', 'a'),
  'nested lists in a line': repeated('- ', '', 'a'),
  'nested numbered lists in a line': repeated('1. ', '', 'a'),
  'quotes in lists in a line': repeated('> - ', '', 'a'),
  'nested lists': numbered((n) => `${'  '.repeat(n % 45)}* a\n`),
  'ever deeper lists': numbered((n) => `${'  '.repeat(n)}* a\n`),
  'a deep quote and short lines': repeated('b\n', `${'> '.repeat(90)}a\n`),
  'a deep list and short lines': repeated('b\n', `${'- '.repeat(45)}a\n`),
  'a deep quote and empty lines': repeated('\n', `${'> '.repeat(90)}a\n`),
  'a deep list and empty lines': repeated('\n', `${'- '.repeat(45)}a\n`, 'b'),
  'rules and lists': repeated('- - - - - - - - x\n'),
  'runs of backticks of all lengths': numbered((n) => `e${'`'.repeat(n)}`),
  'runs of backticks of two lengths': repeated('`a``b'),
  'backticks in brackets': repeated('[`'),
  'links whose address nothing closes': repeated('[a](<b'),
  'links that nothing closes': repeated('[a](b'),
  'links whose title nothing closes': repeated('[a](b "'),
  'links with nested parentheses': repeated('[a](b(c'),
  'parentheses in an address': repeated('(', '[a]('),
  'spaces in a link': repeated(' ', '[a](', 'b)'),
  'comments that nothing closes': repeated('<!-- '),
  'instructions that nothing closes': repeated('<?'),
  'declarations that nothing closes': repeated('<!A '),
  'tags that nothing closes': repeated('<a x="'),
  'automatic links that nothing closes': repeated('<a:'),
  'an automatic address': repeated('a-', '<a@', '>'),
  'entities that nothing closes': repeated('&a'),
  'entities by number': repeated('&#x6a;'),
  definitions: repeated('[a]: b\n'),
  'definitions of many labels': numbered((n) => `[${n}]: u${n}\n[${n}]\n\n`),
  'definitions whose title nothing closes': repeated('[a]: b "\n'),
  'definitions whose label nothing closes': repeated('[a\n'),
  'a long address and many references': (chars) =>
    `[a]: /${fill('x', chars / 2)}\n\n${fill('[a]', chars / 2)}`,
  'a long label and brackets': (chars) =>
    `[x]: y\n\n${fill('[', chars / 2)}${fill('a ', chars / 2)}`,
  'references of two labels': repeated('[a][', '[a]: b\n\n'),
  footnotes: numbered((n) => `[^${n}]: x\n[^${n}]\n\n`),
  'footnotes in footnotes': repeated('[^a]: '),
  'footnotes that nothing closes': repeated('[^', '[^a]: x\n\n'),
  'long footnotes that nothing closes': repeated(`[^${'a'.repeat(900)} `, '[^a]: x\n\n'),
  'many references to a footnote': repeated('[^a]', '[^a]: x\n\n'),
  'footnotes that refer to each other': numbered((n) => `[^${n}]: [^${n + 1}]\n`),
  'tables of one row': repeated('a\n-|-\n'),
  'a table of few columns': repeated('|a|b|\n'),
  'a table of short rows': repeated('a\n', 'a|b\n-|-\n'),
  'a wide table of short rows': (chars) =>
    `${'|a'.repeat(chars / 20)}|\n${'|-'.repeat(chars / 20)}|\n${fill('|a\n', chars * 0.8)}`,
  'wide tables': repeated(`${'|a'.repeat(500)}|\n${'|-'.repeat(500)}|\n${'|\n'.repeat(30)}\n`),
  'tables with vertical tabs': repeated('aaa\rbbb\n-\v\n'),
  'a long row under a deep quote': repeated('|-', `${'>'.repeat(60)}a\n`),
  'headings with lines below': repeated('a\n-\n'),
  'a heading of many lines': repeated('a\n', '', '==='),
  'a heading of many hashes': repeated('#', '# '),
  fences: repeated('```\n'),
  'fences in lists': repeated('- ```\n'),
  'fences in quotes': repeated('> ```\n'),
  'a fence that is none': repeated(' ', '```', '`'),
  'indented code and empty lines': repeated('    a\n\n'),
  'empty lines': repeated('\n', 'a', 'b'),
  'ends of lines of Windows': repeated('\r\n', 'a', 'b'),
  tabs: repeated('\t', '', 'a'),
  'lists with tabs': repeated('-\ta\n\t'),
  'spaces in a line': repeated(' ', 'a', 'b'),
  'spaces at the end of lines': repeated('a  \n'),
  'backslashes at the end of lines': repeated('a\\\n'),
  backslashes: repeated('\\'),
  'tasks in a list': repeated('- [ ] a\n'),
  'web addresses that are none': repeated('_www.'),
  'schemes without addresses': repeated('http://'),
  'schemes of one letter': repeated('a://'),
  'web addresses': repeated(' http://a.b'),
  'a web address and parentheses': repeated(')', 'http://a'),
  'a web address and semicolons': repeated(';', 'http://a'),
  'a web address and entities': repeated('&a;', 'http://a'),
  'a web address of many names': repeated('a.', 'http://'),
  'beginnings of web addresses': repeated('www'),
  'e-mail addresses that are none': repeated('a@'),
  'a long local part': repeated('a.', '', '@b.c'),
  'a long domain': repeated('a-', 'a@', '.c'),
  mentions: repeated('@ab '),
  'mentions with hyphens': repeated('@a-'),
  'mentions in emphasis': repeated('*@ab*'),
  'mentions with accents': repeated('\u0301@ab'),
  'accents before a mention': repeated('\u0301', 'a', '@ab'),
  'mentions of other servers': repeated('@ab:a-'),
  'mentions of other scripts': repeated('请@scout总结'),
  'quotation marks': repeated('"'),
  'U+0000': repeated('\0'),
  'halves of characters': repeated('\ud83d'),
  'emoji and emphasis': repeated('😀*'),
  words: repeated('word '),
  'a long word': repeated('a'),
}
