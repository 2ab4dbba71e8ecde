// `npm run requirements`: prints each requirement with the tests that show it, found by the ids in
// their titles, as Markdown. With `--check` it prints only ids that no requirement has.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './local-state.mjs'
import { requirements } from './requirement-list.mjs'

const known = new Set(requirements.flatMap(([, rows]) => Object.keys(rows)))

const { found, unknown } = findTests()
if (unknown.length > 0) {
  console.error(`Unknown requirement ids in test titles:\n  ${unknown.join('\n  ')}`)
  process.exitCode = 1
} else if (!process.argv.includes('--check')) {
  console.log(writePage(found))
}

/** @typedef {{ file: string, title: string }} Test */

/** Titles such as `'L12 M3: ...'`, wherever a test is declared. */
function findTests() {
  /** @type {Map<string, Test[]>} */
  const found = new Map()
  const unknown = []
  for (const file of listTestFiles()) {
    for (const { ids, title } of readTitles(readFileSync(join(root, file), 'utf8'))) {
      for (const id of ids) {
        if (!known.has(id)) unknown.push(`${id} in ${file}`)
        found.set(id, [...(found.get(id) ?? []), { file, title }])
      }
    }
  }
  return { found, unknown }
}

function listTestFiles() {
  return readdirSync(join(root, 'tests'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(test|e2e)\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()
}

/** @param {string} source */
function readTitles(source) {
  const titles = /\(\s*(['"`])((?:[LDMSBH]\d+[ ,/]*)+): ((?:\\.|(?!\1)[^\\\n])*)\1/g
  return [...source.matchAll(titles)].map(([, , ids = '', title = '']) => ({
    ids: ids.match(/[A-Z]\d+/g) ?? [],
    title: title.replace(/\\(.)/g, '$1'),
  }))
}

/** @param {Map<string, Test[]>} found */
function writePage(found) {
  const shown = [...known].filter((id) => found.has(id)).length
  return `${[
    '# Requirements',
    `${shown} of ${known.size} requirements have a test that names them.`,
    ...requirements.flatMap(([title, rows]) => [
      `## ${title}`,
      [
        '| id | requirement | shown by |',
        '| --- | --- | --- |',
        ...Object.entries(rows).map(
          ([id, words]) => `| ${id} | ${words} | ${describeTests(found.get(id))} |`,
        ),
      ].join('\n'),
    ]),
  ].join('\n\n')}`
}

/** @param {Test[] | undefined} tests */
function describeTests(tests) {
  if (!tests) return '**no test yet**'
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
