// Migrations that a deployed database takes. Its endpoint splits a file into statements by rules of its
// own (workers-sdk issues 4713, 4727, 14991, 15178, 15228, 15314), so a file keeps to what it splits
// rightly. And a released migration never changes: `--freeze` adds the hash of a new one. Null in place of a
// hash is a migration that was not released yet and may still change.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './local-state.mjs'

const directory = join(root, 'migrations')
const frozenPath = join(directory, 'frozen.json')

/** @type {Record<string, string | null>} */
const frozen = JSON.parse(readFileSync(frozenPath, 'utf8'))
const names = readdirSync(directory)
  .filter((name) => name.endsWith('.sql'))
  .sort()
const texts = new Map(names.map((name) => [name, readFileSync(join(directory, name), 'utf8')]))
const hashes = Object.fromEntries(
  [...texts].map(([name, text]) => [name, createHash('sha256').update(text).digest('hex')]),
)

const problems = [
  ...[...texts].flatMap(([name, text]) =>
    findProblems(text).map((problem) => `${name}: ${problem}`),
  ),
  ...Object.entries(frozen).flatMap(([name, hash]) => {
    if (hashes[name] === undefined) return [`${name}: a released migration was deleted or renamed.`]
    return hash === null || hashes[name] === hash
      ? []
      : [`${name}: a released migration was changed. Undo that and add a new file.`]
  }),
]
const added = names.filter((name) => !(name in frozen))
if (problems.length === 0 && process.argv.includes('--freeze')) {
  writeFileSync(frozenPath, `${JSON.stringify(hashes, null, 2)}\n`)
} else {
  problems.push(
    ...added.map((name) => `${name}: not frozen yet: run \`npm run freeze-migrations\`.`),
  )
}
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1

/**
 * @param {string} text
 * @returns {string[]} why the deployed database may split this wrongly
 */
function findProblems(text) {
  const code = text.replace(/--.*$/gm, '').replace(/'(?:''|[^'])*'/g, "''")
  const triggers = code.match(/CREATE\s+TRIGGER[\s\S]*?\nEND;/gi) ?? []
  const comments = text.match(/--.*$/gm) ?? []
  /** @type {[boolean, string][]} */
  const rules = [
    [text.includes('\r'), 'has CR line ends; use LF.'],
    [comments.some((each) => /['"`;]/.test(each)), 'has a quote or semicolon in a comment.'],
    [code.includes('/*'), 'has a block comment; use --.'],
    [/\[[A-Za-z_]/.test(code), 'names something in [brackets]; use "quotes".'],
    [triggers.some((each) => !/\bBEGIN\b/.test(each)), 'has a trigger without BEGIN in capitals.'],
    [triggers.some((each) => /\bCASE\b/i.test(each)), 'has CASE in a trigger; use iif().'],
  ]
  return rules.filter(([isBroken]) => isBroken).map(([, problem]) => problem)
}
