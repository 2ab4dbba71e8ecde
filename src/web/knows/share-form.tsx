import type { FC } from 'hono/jsx'
import type { KnownFile } from '../../agents/contract/agents'
import type { SeenAgent } from '../../hub/sessions/agent-view'
import { formatDay } from '../../shared/format'
import { accountPath } from '../../shared/paths'

type Item = { kind: 'fact'; id: string } | { kind: 'file'; path: string }

/** Shares what is private to the viewer, or makes private again what they shared. */
export const ShareForm: FC<{ name: string; item: Item; isShared: boolean }> = (props) => {
  const { name, item, isShared } = props
  return (
    <form method="post" action={`${accountPath(name)}/private`}>
      {Object.entries(item).map(([field, value]) => (
        <input type="hidden" name={field} value={value} />
      ))}
      <button type="submit" class="btn" name="change" value={isShared ? 'unshare' : 'share'}>
        {isShared ? 'Make private again' : 'Share'}
      </button>
    </form>
  )
}

type Marked = Pick<KnownFile, 'privateTo' | 'isUntrusted'> & { sharedAt?: number | null }

/** Says to whom an item is private, who shared it, and whether it comes from text of strangers. */
export const PrivacyNote: FC<{ agent: SeenAgent; of: Marked }> = ({ agent, of }) => {
  const { privateTo, sharedAt = null, isUntrusted } = of
  const { view, labels } = agent
  return (
    <>
      {privateTo !== null && (
        <>
          . <b>Private to {privateTo === view.self ? 'you' : labels.get(privateTo)}.</b>
        </>
      )}
      {sharedAt !== null && (
        <>
          . <b>Shared by you on {formatDay(sharedAt)}.</b> If you make it private again, what was
          quoted meanwhile stays where it was quoted.
        </>
      )}
      {isUntrusted && <>. From a run that had read text by a guest or from outside.</>}
    </>
  )
}
