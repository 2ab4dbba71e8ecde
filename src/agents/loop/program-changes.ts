import type { LoopEvent } from './event'
import type { StoredReport } from './program-event'

type Changes = NonNullable<Extract<StoredReport, { kind: 'ended' }>['changes']>

const pullRequestTool = 'github_create_pull_request'

/** What a runner reports is no Markdown: only names and ids that look like such are posted. */
const isBranch = (text: string): boolean => /^[\w./-]{1,200}$/.test(text)
const isCommit = (text: string | null): text is string =>
  text !== null && /^[0-9a-f]{7,64}$/.test(text)

/**
 * Returns the line under the answer of a program that changed its repository: how much, on which branch, since
 * when, and the pull request that it opened. Null without changes.
 */
export function describeChanges(events: LoopEvent[]): string | null {
  const all = events.flatMap((event) =>
    event.type === 'program_reported' ? event.reports.flatMap(listChanges) : [],
  )
  const changes = all.at(-1)
  if (!changes || !isBranch(changes.branch)) return null
  const counts = summarize(changes.stat)
  const since = all[0]?.since ?? null
  const sentences = [
    `${counts} ${changes.pushed === null ? 'for' : 'on'} ${linkBranch(events, changes)}`,
    ...(isCommit(changes.pushed) ? [` (commit \`${changes.pushed.slice(0, 12)}\`)`] : []),
    ...(isCommit(since) ? [`, since \`${since.slice(0, 12)}\``] : []),
    changes.pushed === null ? '; not pushed.' : '.',
  ]
  const pull = findPullRequest(events)
  return sentences.join('') + (pull === null ? '' : ` Pull request: <${pull}>`)
}

const listChanges = (report: StoredReport): Changes[] =>
  report.kind === 'ended' && report.changes && report.changes.stat !== '' ? [report.changes] : []

/** Returns the last line of a stat, e.g. `2 files changed, 3 insertions(+)`. */
function summarize(stat: string): string {
  const last = stat.trimEnd().split('\n').at(-1)?.trim() ?? ''
  const isSummary = /^\d+ files? changed(, \d+ insertions?\(\+\))?(, \d+ deletions?\(-\))?$/
  return isSummary.test(last) ? last : 'Changes'
}

function linkBranch(events: LoopEvent[], { branch, pushed }: Changes): string {
  const loaded = events.find((event) => event.type === 'loaded')
  const repository = loaded?.type === 'loaded' ? loaded.facts.program?.repository : undefined
  const [service, path] = /^(\w+)\/([\w.-]+\/[\w.-]+)$/.exec(repository ?? '')?.slice(1) ?? []
  const name = `\`${branch}\``
  return service === 'github' && pushed !== null
    ? `[${name}](https://github.com/${path}/tree/${branch})`
    : name
}

/** Returns the address of the last pull request that the program opened; null when others must not see it. */
function findPullRequest(events: LoopEvent[]): string | null {
  const opened = new Set(
    events.flatMap((event) =>
      event.type === 'program_called' && event.name === pullRequestTool ? [event.callId] : [],
    ),
  )
  const returned = events.findLast(
    (event) =>
      (event.type === 'program_call_returned' || event.type === 'tool_returned') &&
      opened.has(event.callId) &&
      !event.isError,
  )
  if (returned?.type !== 'program_call_returned' && returned?.type !== 'tool_returned') return null
  if (returned.isPrivate || returned.isOwnAccount) return null
  return /"url": ?"(https:\/\/[\w./:-]{1,300})"/.exec(returned.text)?.[1] ?? null
}
