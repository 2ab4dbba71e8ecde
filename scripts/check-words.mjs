// Terms that this project does not use, each with the one it uses. Names, messages, comments, docs
// and test titles are read alike.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './local-state.mjs'

/**
 * Words that stand in plain prose too, so that only the source is held to them.
 * @type {[RegExp, string][]}
 */
const proseTerms = [
  [/\b(tell|tells|told|telling)\b/, 'notify, report, include, return'],
  [/\bhear(s|d)? of\b/i, 'receive, be notified of'],
]

/** @type {[RegExp, string][]} */
const terms = [
  [/\blook(s|ed|ing)? around\b/i, 'explore, exploration'],
  [/\bown turns?\b/i, 'exploration'],
  [/brake(d|s)?\b/i, 'reply limit'],
  [/\b(front |back )?doors?\b|[a-z]Doors?\b/, 'API, store, port'],
  [/\b[nN]arrowing\b/, 'tool restrictions'],
  [/\buncalled\b/i, 'not woken'],
  [/\bhallways?\b/i, 'shared'],
  [/\bworkbench/i, 'effect context, dependencies'],
  [/\bunder ?way\b|under-way|UnderWay/i, 'running, in flight'],
  [/\basked in vain\b/i, 'requested but not granted'],
  [/\bbegins? anew\b/i, 'resets on'],
  [/\bmake none\b|\bleave it as it is\b|\btake(n|s)? away\b/i, 'cancel, discard, delete'],
  [/\bran out of time\b/i, 'timed out'],
  [/\bin trouble\b|\btroubles?\b/i, 'failed, error'],
  [/\bwhat it came to\b/i, 'summary, projection'],
  [/\b(say)?Twin\b/, 'duplicate, conflict'],
  [/\bwhere it is heading\b/i, 'forecast, run rate'],
  [
    /\bserver(s)? of others\b|\bagents? that works? outside\b/i,
    'remote MCP server, external agent',
  ],
  [/\bhire[ds]?\b|\bhiring\b/i, 'createAgent'],
  [/\bask(er|ers)\b/i, 'requester'],
]

const checked = /^(src|client|runner|scripts|bench|tests|docs|agents|README|CONTRIBUTING|SECURITY)/
const readable = /\.(tsx?|m?js|md|css|ya?ml)$/
/** The list itself, word lists, and text of test data. */
const exempt =
  /^scripts\/check-words\.mjs$|^docs\/tools\.md$|^src\/agents\/text\/stop-words\.ts$|^tests\/(support\/small-archive|hub\/search\/|stories\/exploration\.test)/

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => checked.test(file) && readable.test(file) && !exempt.test(file))

let found = 0
for (const file of files) {
  for (const [index, line] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
    for (const [term, instead] of file.startsWith('src/') ? [...terms, ...proseTerms] : terms) {
      const match = term.exec(line)
      if (!match) continue
      found++
      console.error(`${file}:${index + 1}: "${match[0]}": say ${instead}`)
    }
  }
}
console.log(`${files.length} files`)
process.exitCode = found === 0 ? 0 : 1
