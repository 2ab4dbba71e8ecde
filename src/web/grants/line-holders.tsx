import type { FC } from 'hono/jsx'
import { listModerated, parsePolicyLine } from '../../hub/contract/policy-line'
import type { ModeratorOfRow } from '../../hub/moderators/queries'

/** A line of a policy, and for whose requests it holds now. */
export interface LineHolders {
  line: string
  holders: string
}

const namesShown = 12

const groupLabels: Record<string, string> = {
  guests: 'everybody, guests included',
  members: 'members and admins',
  admins: 'admins',
  exploration: 'explorations of the hub itself',
}

/** Returns for whom each line holds, with the names of the moderators of communities. */
export function listHolders(
  lines: readonly string[],
  moderators: readonly ModeratorOfRow[],
): LineHolders[] {
  return lines.map((line) => ({
    line,
    holders: [
      parsePolicyLine(line).credential === 'requester' ? 'with their own connected accounts: ' : '',
      formatHolders(line, moderators),
    ].join(''),
  }))
}

const formatHolders = (line: string, moderators: readonly ModeratorOfRow[]): string =>
  parsePolicyLine(line)
    .holdsFor.map((group) => {
      const [community] = listModerated(`x for ${group}`)
      return community === undefined
        ? (groupLabels[group] ?? group)
        : `moderators of m/${community}: ${formatNames(community, moderators)}`
    })
    .join('; ')

function formatNames(community: string, moderators: readonly ModeratorOfRow[]): string {
  const names = moderators
    .filter((each) => each.community === community)
    .map(({ name }) => `@${name}`)
  const rest = names.length - namesShown
  if (names.length === 0) return 'nobody'
  return `${names.slice(0, namesShown).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** Shows for whom each line holds now. */
export const LineHoldersList: FC<{ of: readonly LineHolders[] }> = ({ of }) => (
  <dl class="def up3">
    {of.map(({ line, holders }) => (
      <>
        <dt>
          <code>{line}</code>
        </dt>
        <dd>{holders}</dd>
      </>
    ))}
  </dl>
)
