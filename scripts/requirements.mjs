// `npm run requirements`: prints each requirement with the tests that show it, found by the ids in
// their titles, as Markdown. With `--check` it prints only what is wrong.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readTests } from './check-promises.mjs'
import { root } from './local-state.mjs'
import { requirements } from './requirement-list.mjs'

/** @typedef {import('./requirement-list.mjs').Section} Section */
/** A test that always runs. @typedef {{ file: string, title: string }} Test */

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const tests = readTitles(listTestFiles(), (file) => readFileSync(join(root, file), 'utf8'))
  const { problems, hints } = findIdProblems(requirements, tests)
  const isCheck = process.argv.includes('--check')
  if (problems.length > 0) console.error(problems.join('\n'))
  else if (!isCheck) console.log(writePage(tests))
  if (hints.length > 0) console.error(hints.join('\n'))
  process.exitCode = problems.length === 0 ? 0 : 1
}

function listTestFiles() {
  return readdirSync(join(root, 'tests'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(test|e2e)\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()
}

/**
 * Returns the ids with which a title begins, as in `L12 M3: ...`.
 * @param {string} title
 */
function readIds(title) {
  return /^((?:[A-Z]\d+[ ,/]*)+): /.exec(title)?.[1]?.match(/[A-Z]\d+/g) ?? []
}

/**
 * Returns the tests of files by the ids in their titles, and the ids of other titles: of skipped tests and groups.
 *
 * @param {string[]} files
 * @param {(file: string) => string} read
 * @returns {{ shown: Map<string, Test[]>, named: { id: string, file: string }[] }}
 */
export function readTitles(files, read) {
  /** @type {Map<string, Test[]>} */
  const shown = new Map()
  const named = []
  for (const file of files) {
    for (const { path, title, isSkipped } of readTests(read(file))) {
      for (const id of path.split(' > ').flatMap(readIds)) named.push({ id, file })
      if (isSkipped) continue
      for (const id of readIds(title)) shown.set(id, [...(shown.get(id) ?? []), { file, title }])
    }
  }
  return { shown, named }
}

/**
 * Returns what is wrong: a requirement that is done and has no test, and an id that no requirement has. A test of an
 * open requirement is a hint that it may be done.
 *
 * @param {Section[]} sections
 * @param {ReturnType<typeof readTitles>} tests
 * @returns {{ problems: string[], hints: string[] }}
 */
export function findIdProblems(sections, { shown, named }) {
  const done = sections.flatMap((section) => Object.keys(section.done))
  const open = sections.flatMap((section) => Object.keys(section.open))
  const known = new Set([...done, ...open])
  const unknown = new Set(
    named.flatMap(({ id, file }) =>
      known.has(id) ? [] : [`Unknown requirement ${id} in ${file}`],
    ),
  )
  const untested = done.filter((id) => !shown.has(id))
  return {
    problems: [
      ...unknown,
      ...untested.map(
        (id) => `${id} is done, and the title of no test that always runs begins with it`,
      ),
    ],
    hints: open
      .filter((id) => shown.has(id))
      .map((id) => `${id} is open and has a test: ${shown.get(id)?.[0]?.file}`),
  }
}

/** @param {ReturnType<typeof readTitles>} tests */
function writePage({ shown }) {
  const count = (/** @type {'done' | 'open'} */ state) =>
    requirements.reduce((sum, section) => sum + Object.keys(section[state]).length, 0)
  return [
    '# Requirements',
    `${count('done')} of ${count('done') + count('open')} requirements are done, each with a test that names it.`,
    ...requirements.flatMap(({ title, done, open }) => [
      `## ${title}`,
      [
        '| id | requirement | shown by |',
        '| --- | --- | --- |',
        ...Object.entries({ ...done, ...open })
          .sort(([a], [b]) => Number(a.slice(1)) - Number(b.slice(1)))
          .map(([id, words]) => {
            const state = id in open ? ['**open**'] : []
            const tests = shown.get(id)
            const cells = [...state, ...(tests ? [describeTests(tests)] : [])]
            return `| ${id} | ${words} | ${cells.join('<br>')} |`
          }),
      ].join('\n'),
    ]),
  ].join('\n\n')
}

/** @param {Test[]} tests */
function describeTests(tests) {
  const byFile = Map.groupBy(tests, ({ file }) => file)
  return [...byFile]
    .map(([file, each]) => {
      const titles = [...new Set(each.map(({ title }) => title))].map(escapeCell).join(' · ')
      return `[${file.replace('tests/', '')}](${file}): ${titles}`
    })
    .join('<br>')
}

/** @param {string} text */
function escapeCell(text) {
  return text.replace(/[|<>*_`\\[\]]/g, '\\$&')
}
