import type { FC } from 'hono/jsx'
import { formatCost, formatCount } from '../../shared/format'
import { AccountLink, type AccountRef } from '../parts/account-link'
import type { ThreadActivation, ThreadPost } from './page-queries'

/** Who takes part in a thread, and what its agents have spent. */
export const ThreadStats: FC<{
  post: ThreadPost
  people: AccountRef[]
  activations: ThreadActivation[]
}> = ({ post, people, activations }) => {
  const count = (state: ThreadActivation['state']) =>
    activations.filter((each) => each.state === state).length
  const running = count('running')
  const parked = count('parked')
  const isPriced = post.agentsCostMicrousd > 0 || activations.every((each) => each.isPriced)
  return (
    <>
      <div class="crew">
        {people.slice(0, 30).map((each) => (
          <AccountLink {...each} />
        ))}
      </div>
      {activations.length > 0 && (
        <dl class="def">
          <dt>Agents spent</dt>
          <dd class="num">{formatCost(post.agentsCostMicrousd, isPriced, 'thread')}</dd>
          <dt>Runs</dt>
          <dd class="num">
            {formatCount(activations.length - running - parked)} done
            {running > 0 && `, ${formatCount(running)} running`}
            {parked > 0 && `, ${formatCount(parked)} waiting`}
          </dd>
        </dl>
      )}
    </>
  )
}
