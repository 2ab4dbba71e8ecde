// Promises of the documents about security. Each row of their tables names the tests that show it in a footnote, and
// `npm run check` fails for a promise without a test, for a test that does not exist or may not run, and for a
// limit that is not the one in the configuration.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as config from '../src/shared/config.ts'
import { root } from './local-state.mjs'

const documents = ['docs/threat-model.md', 'docs/bounds.md']
const footnoteMark = /\[\^([\w-]+)\](?!:)/g
const footnoteStart = /^\[\^([\w-]+)\]: (.*)$/

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) checkDocuments()

function checkDocuments() {
  const readTest = (/** @type {string} */ path) => {
    const file = join(root, path)
    return existsSync(file) ? readFileSync(file, 'utf8') : null
  }
  const problems = documents.flatMap((name) => {
    const text = readFileSync(join(root, name), 'utf8')
    return [...findPromiseProblems(name, text, readTest), ...findLimitProblems(name, text, config)]
  })
  if (problems.length > 0) console.error(problems.join('\n'))
  process.exitCode = problems.length === 0 ? 0 : 1
}

/**
 * Returns what is wrong with the promises of a document, each with its place.
 *
 * @param {string} name path of the document
 * @param {string} text
 * @param {(path: string) => string | null} readTest returns the source of a test file; null: no such file
 * @returns {string[]}
 */
export function findPromiseProblems(name, text, readTest) {
  const lines = text.split('\n')
  const footnotes = readFootnotes(lines)
  const uses = readUses(lines)
  const found = [
    ...findWithoutTest(lines).map((line) => ({ line, problem: 'This promise names no test.' })),
    ...footnotes.flatMap((footnote, index) => {
      const isRepeated = footnotes.findIndex(({ id }) => id === footnote.id) < index
      return findFootnoteProblems(footnote, { isRepeated, isUsed: uses.has(footnote.id) }, readTest)
    }),
    ...[...uses]
      .filter(([id]) => !footnotes.some((footnote) => footnote.id === id))
      .map(([id, line]) => ({ line, problem: `The footnote ${id} is not defined.` })),
  ]
  return found
    .sort((a, b) => a.line - b.line)
    .map(({ line, problem }) => `${name}:${line}: ${problem}`)
}

/**
 * Returns the limits of a document, written as a name and its value such as `mcp.batchMessagesMax` 100, that differ from
 * the configuration or are not in it.
 *
 * @param {string} name path of the document
 * @param {string} text
 * @param {object} limits the groups of the configuration, by name
 * @returns {string[]}
 */
export function findLimitProblems(name, text, limits) {
  return text.split('\n').flatMap((line, index) =>
    [...line.matchAll(/`([A-Za-z]\w*(?:\.\w+)+)` (\d[\d,]*\d|\d)/g)].flatMap(
      ([, path = '', written = '']) => {
        const value = path
          .split('.')
          .reduce((/** @type {any} */ group, each) => group?.[each], /** @type {any} */ (limits))
        if (value === Number(written.replaceAll(',', ''))) return []
        const now = typeof value === 'number' ? `is ${value.toLocaleString('en')}` : 'is no limit'
        return [`${name}:${index + 1}: ${path} ${now}, not ${written}.`]
      },
    ),
  )
}

/** @typedef {{ id: string, line: number, text: string }} Footnote */

/**
 * @param {string[]} lines
 * @returns {Footnote[]} a footnote ends before the next one, or an empty line
 */
function readFootnotes(lines) {
  /** @type {Footnote[]} */
  const footnotes = []
  let isOpen = false
  for (const [index, line] of lines.entries()) {
    const [, id, text = ''] = footnoteStart.exec(line) ?? []
    const last = footnotes.at(-1)
    if (id !== undefined) footnotes.push({ id, line: index + 1, text })
    else if (isOpen && last) last.text += ` ${line.trim()}`
    isOpen = id !== undefined || (isOpen && line.trim() !== '')
  }
  return footnotes
}

/**
 * Returns the line of the first use of each footnote.
 * @param {string[]} lines
 */
function readUses(lines) {
  /** @type {Map<string, number>} */
  const uses = new Map()
  for (const [index, line] of lines.entries()) {
    for (const [, id = ''] of line.matchAll(footnoteMark)) {
      if (!uses.has(id)) uses.set(id, index + 1)
    }
  }
  return uses
}

/**
 * Returns the lines of promises without a footnote: rows of a table with a column `test`.
 * @param {string[]} lines
 */
function findWithoutTest(lines) {
  return findRows(lines)
    .filter(({ text }) => text.search(footnoteMark) < 0)
    .map(({ line }) => line)
}

/** @param {string[]} lines */
function findRows(lines) {
  const rows = []
  let column = -1
  for (const [index, line] of lines.entries()) {
    const cells = line.startsWith('|') ? line.split('|').map((cell) => cell.trim()) : null
    if (cells === null) column = -1
    else if (column < 0) column = cells.indexOf('test')
    else if (!/^\|[\s:|-]+$/.test(line)) rows.push({ line: index + 1, text: cells[column] ?? '' })
  }
  return rows
}

/**
 * @param {Footnote} footnote
 * @param {{ isRepeated: boolean, isUsed: boolean }} state
 * @param {(path: string) => string | null} readTest
 */
function findFootnoteProblems({ id, line, text }, { isRepeated, isUsed }, readTest) {
  /** @param {string} problem */
  const at = (problem) => ({ line, problem })
  if (isRepeated) return [at(`The footnote ${id} is defined twice.`)]
  if (!isUsed) return [at(`No promise has the footnote ${id}.`)]
  const reference = /`(tests\/[^`]+)`: "([^"]+)"/g
  const references = [...text.matchAll(reference)]
  if (references.length === 0 || text.replace(reference, '').trim() !== '') {
    return [at('Write only tests here, each as `path`: "title".')]
  }
  return references.flatMap(([, path = '', written = '']) => {
    const source = readTest(path)
    const title = written.replace(/\s+/g, ' ')
    if (source === null) return [at(`${path} does not exist.`)]
    const named = findTests(source, title)
    if (title.endsWith('…') && named.length > 1) {
      return [at(`${path} has ${named.length} tests that begin "${title}". Write more of one.`)]
    }
    return named.some(({ isSkipped }) => !isSkipped)
      ? []
      : [at(`${path} has no test "${title}" that always runs.`)]
  })
}

/**
 * Returns the tests of a file that a title names.
 *
 * @param {string} source
 * @param {string} written the title of a test, or those of its groups and its own, as in `group > test`; with … at the
 *   end it is the beginning of one
 */
function findTests(source, written) {
  const title = ` > ${written.replace(/…$/, '')}`
  return readTests(source).filter((test) => {
    const path = ` > ${test.path}`
    if (!written.endsWith('…')) return path.endsWith(title)
    const at = path.lastIndexOf(title)
    // A beginning has to reach the test: the title of a group alone names none.
    return at >= 0 && at + title.length > path.length - test.title.length
  })
}

/** @typedef {{ depth: number, isGroup: boolean, isSkipped: boolean }} Declaration */

/**
 * Returns the tests that a file declares, each with the titles of its groups.
 * @param {string} source
 */
export function readTests(source) {
  /** @type {{ path: string, title: string, isSkipped: boolean }[]} */
  const tests = []
  /** @type {{ depth: number, path: string, isSkipped: boolean }[]} */
  let groups = []
  for (const { depth, isGroup, title, ...own } of readDeclarations(source)) {
    groups = groups.filter((group) => group.depth < depth)
    const around = groups.at(-1)
    const path = around ? `${around.path} > ${title}` : title
    const isSkipped = own.isSkipped || around?.isSkipped === true
    if (isGroup) groups.push({ depth, path, isSkipped })
    else tests.push({ path, title, isSkipped })
  }
  return tests
}

/**
 * Returns groups and tests in their order. What belongs to what is read from the indentation, which the
 * formatter keeps.
 * @param {string} source
 */
function readDeclarations(source) {
  const lines = source.split('\n')
  /** @type {(Declaration & { title: string })[]} */
  const found = []
  /** @type {Declaration | null} */
  let open = null
  for (const [index, line] of lines.entries()) {
    open = readDeclaration(line) ?? open
    const title = open && readTitle(line, lines[index + 1] ?? '', open.depth)
    if (open === null || title === null) continue
    found.push({ ...open, title })
    open = null
  }
  return found
}

/**
 * @param {string} line
 * @returns {Declaration | null}
 */
function readDeclaration(line) {
  const [found, spaces = '', name, modifiers = ''] =
    /^( *)(describe|test|it)\b((?:\.\w+)*)/.exec(line) ?? []
  return found === undefined
    ? null
    : {
        depth: spaces.length,
        isGroup: name === 'describe',
        isSkipped: /\.(skip|todo|runIf|fails)/.test(modifiers),
      }
}

/**
 * Returns the title of a declaration: behind its name, or behind the rows that it is called with.
 *
 * @param {string} line
 * @param {string} next the line after it, where a long title stands
 * @param {number} depth
 * @returns {string | null}
 */
function readTitle(line, next, depth) {
  if (line.search(/\S/) !== depth) return null
  const behind = /(?:^ *(?:describe|test|it)[\w.]*|\))\((['"`])((?:\\.|(?!\1)[^\\])*)\1,/.exec(line)
  const below = line.endsWith('(') ? /^ *(['"`])((?:\\.|(?!\1)[^\\])*)\1,$/.exec(next) : null
  const title = (behind ?? below)?.[2]
  return title === undefined ? null : title.replace(/\\(.)/g, '$1')
}
