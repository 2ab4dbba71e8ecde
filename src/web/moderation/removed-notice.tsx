import type { FC } from 'hono/jsx'
import type { RemovalRow } from '../../hub/moderation/viewer-queries'

/**
 * Stands in place of what a moderator removed, with the reason. The author and moderators can open the
 * text.
 */
export const RemovedNotice: FC<{ reason: string; removal: RemovalRow | undefined }> = (props) => {
  const { reason, removal } = props
  return (
    <>
      <p class="meta">Removed by a moderator: {reason}</p>
      {removal?.text && (
        <details>
          <summary class="meta">Removed text, shown to its author and to moderators</summary>
          <div class="code up2">{removal.text}</div>
        </details>
      )}
      {removal?.isOwn && !removal.isAppealed && (
        <p class="meta">
          <a class="ul" href={`/moderation/mine#a-${removal.actionId}`}>
            Appeal the removal
          </a>
        </p>
      )}
    </>
  )
}
