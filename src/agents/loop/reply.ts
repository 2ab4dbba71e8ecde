import { limits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { addMentions } from '../../shared/markdown/render-markdown'
import type { LoopEvent, StoredReport } from './event'
import { isTruncated, type ModelAnswer } from './message'
import type { Ending } from './state'

const truncatedNote = '\n\n*(Truncated: my answer reached its length limit.)*'

/**
 * Returns the text to post for an ending, with a mention of every requester; null posts nothing.
 *
 * @param progress how much of its plan the run has done, as a sentence
 */
export function composeReply(
  ending: Ending,
  events: LoopEvent[],
  requesters: string[],
  progress: string | null = null,
): string | null {
  const text = composeReplyText(ending, events, progress)
  return text === null ? null : addMentions(text, requesters)
}

/** Returns the text to post without mentions of requesters; null posts nothing. */
export function composeReplyText(
  ending: Ending,
  events: LoopEvent[],
  progress: string | null,
): string | null {
  if (ending.reply === 'silent') return null
  if (ending.reply === 'notice') return ending.text
  const reason = progress === null ? ending.text : `${ending.text} ${progress}`
  if (hasProgram(events)) {
    const said = findProgramAnswer(events)
    const changes = describeChanges(events)
    const text = ending.reply === 'answer' ? said : joinReason(said, reason)
    return changes === null ? text : `${truncateToFit(text, changes.length)}\n\n${changes}`
  }
  const answers = events.flatMap(toSaid)
  if (ending.reply === 'answer') {
    const hasReachedLimit = answers.at(-1)?.finish === 'length'
    return joinAnswer(answers) + (hasReachedLimit ? truncatedNote : '')
  }
  const soFar = joinAnswer(answers.slice(0, answers.findLastIndex(hasText) + 1))
  return joinReason(soFar, reason)
}

/** Whether an answer is the word with which an agent that nobody waits for says nothing. */
export const isPass = (text: string): boolean =>
  /^[\p{P}\p{S}\s]*pass[\p{P}\p{S}\s]*$/iu.test(text.trim())

/** Returns a partial answer with the reason why it is not whole. */
const joinReason = (soFar: string, reason: string): string =>
  soFar ? `${closeCode(truncateToFit(soFar, reason.length))}\n\n*${reason}*` : reason

/** Ends a code block that a text leaves open, so that what follows is no code. */
function closeCode(text: string): string {
  let open: { indent: string; fence: string } | null = null
  for (const line of text.split('\n')) {
    const [whole = '', indent = '', fence] = /^( {0,3})(`{3,}|~{3,})/.exec(line) ?? []
    if (fence === undefined) continue
    const rest = line.slice(whole.length)
    // with a backtick behind them they are code within a line
    if (open === null) open = fence.startsWith('`') && rest.includes('`') ? null : { indent, fence }
    else if (fence.startsWith(open.fence) && rest.trim() === '') open = null
  }
  return open === null ? text : `${text}\n${open.indent}${open.fence}`
}

const hasProgram = (events: LoopEvent[]): boolean =>
  events.some((event) => event.type === 'loaded' && event.facts.program !== undefined)

/** Returns the answer of a program's last turn; when it has none, what it wrote after its last tool call. */
function findProgramAnswer(events: LoopEvent[]): string {
  const reports = events.flatMap((event) =>
    event.type === 'program_reported' ? event.reports : [],
  )
  const text = reports.reduce((before, report) => foldText(before, report), '')
  return text.trim()
}

function foldText(before: string, report: StoredReport): string {
  if (report.kind === 'text') return before + report.text
  if (report.kind === 'ended') return report.answer.trim() === '' ? before : report.answer
  const isNew = report.kind === 'started' || (report.kind === 'tool' && report.status === 'running')
  return isNew ? '' : before
}

/** Characters kept free for the names of all requesters and punctuation. */
const namesChars = 800

/**
 * Truncates a text that a comment cannot hold, so that the reason for stopping still fits after it.
 */
function truncateToFit(text: string, charsAfter: number): string {
  const max = limits.comment.contentCharsMax - namesChars - charsAfter
  return text.length <= max ? text : `${cutText(text, max)} [...]`
}

type Said = Pick<ModelAnswer, 'text' | 'calls' | 'finish'>

/** Returns the text of an answer, or what was written of one until it was stopped. */
function toSaid(event: LoopEvent): Said[] {
  if (event.type === 'model_answered') return [event.answer]
  const isStop = event.type === 'cancel_requested' || event.type === 'time_ran_out'
  return isStop && event.text !== undefined
    ? [{ text: event.text, calls: [], finish: 'interrupted' }]
    : []
}

const hasText = ({ text }: Said): boolean => text.trim() !== ''

/** Returns the last answer, with the truncated answers before it that it continues. */
function joinAnswer(answers: Said[]): string {
  const whole = answers.findLastIndex(
    (answer, index) => index < answers.length - 1 && !isTruncated(answer),
  )
  return answers
    .slice(whole + 1)
    .map(({ text }) => text)
    .join('')
    .trim()
}

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
function describeChanges(events: LoopEvent[]): string | null {
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
