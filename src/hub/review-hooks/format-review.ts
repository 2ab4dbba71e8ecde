import { limits } from '../../shared/config'
import type { Review } from './read-review'

const verbs = {
  approved: 'approved',
  changes_requested: 'requested changes on',
  commented: 'reviewed',
} as const

/**
 * Returns the comment that a thread shows for a review. Names that do not look like such are left out, and the
 * text is quoted, so that nothing in it mentions anybody or stands for a text of the hub.
 */
export function formatReview({ author, state, place, pull, text }: Review): string {
  const who = /^[\w.-]{1,60}(\[bot\])?$/.test(author) ? `**${author}**` : '**Somebody**'
  const verb = state === null ? 'commented on' : verbs[state]
  const where = place === null ? '' : `${formatPlace(place)} of `
  const head = `${who} ${verb} ${where}${formatPull(pull)}`
  if (text === '') return `${head}.`
  const quoted = text
    .split(/\r\n|\r|\n/)
    .map((line) => `> ${line}`)
    .join('\n')
  return truncate(`${head}:\n\n${quoted}`)
}

const formatPull = ({ repository, number }: Review['pull']): string =>
  /^[\w.-]+\/[\w.-]+$/.test(repository)
    ? `[${repository}#${number}](https://github.com/${repository}/pull/${number})`
    : `pull request ${number}`

function formatPlace({ path, line }: NonNullable<Review['place']>): string {
  const name = /^[^`\p{C}]{1,300}$/u.test(path) ? path : 'a file'
  return `\`${line === null ? name : `${name}:${line}`}\``
}

const truncated = '\n> [...]'

function truncate(text: string): string {
  const max = limits.comment.contentCharsMax
  return text.length <= max
    ? text
    : `${text.slice(0, max - truncated.length).toWellFormed()}${truncated}`
}
