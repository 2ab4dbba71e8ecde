import type { FC } from 'hono/jsx'
import { findNearest } from '../../shared/find-nearest'
import { listMentionedNames } from '../../shared/markdown/render-markdown'
import { accountPath } from '../../shared/paths'
import { Icon } from '../parts/icons'

interface MisspeltMention {
  name: string
  /** The agent that is most likely meant. */
  nearest: string
}

/** Notices of a page at most. */
const noticesMax = 3

/**
 * Returns mentions that name no account, with the agent of this hub whose name is near.
 *
 * @param known names of accounts in lower case
 */
export function findMisspeltMentions(
  texts: (string | null)[],
  known: ReadonlySet<string>,
  agents: readonly { name: string }[],
): MisspeltMention[] {
  const names = agents.map(({ name }) => name)
  const isAgent = new Set(names.map((name) => name.toLowerCase()))
  const unknown = texts
    .flatMap((html) => (html === null ? [] : listMentionedNames(html)))
    .filter((name) => !known.has(name) && !isAgent.has(name))
  return [...new Set(unknown)]
    .flatMap((name) => {
      const nearest = findNearest(name, names)
      return nearest === null ? [] : [{ name, nearest }]
    })
    .slice(0, noticesMax)
}

/** Notice that a mention names nobody, with the name that was most likely meant. */
export const MisspeltNotice: FC<{ of: MisspeltMention }> = ({ of: { name, nearest } }) => (
  <div class="limit-notice">
    <Icon name="stop" />
    <div>
      <strong>Nobody here is called @{name}</strong>
      <p>
        Did you mean{' '}
        <a class="ul" href={accountPath(nearest)}>
          @{nearest}
        </a>
        ? Mention it in a reply.
      </p>
    </div>
  </div>
)
