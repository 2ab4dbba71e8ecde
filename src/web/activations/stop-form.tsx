import type { FC } from 'hono/jsx'
import { activationPath } from '../../shared/paths'
import type { PageViewer } from '../frame/frame'

export interface StopFormProps {
  viewer: PageViewer | null
  activation: { id: string; agentName: string }
  /** Names of the requesters of the activation; they and admins may stop it. */
  requesters: readonly string[]
  /** The thread to return to; the activation's page if absent. */
  postId?: string
}

/** The button that stops a running agent; nothing for viewers who may not stop it. */
export const StopForm: FC<StopFormProps> = ({ viewer, activation, requesters, postId }) => {
  if (!viewer || !(viewer.isAdmin || requesters.includes(viewer.name))) return null
  return (
    <form class="stop" method="post" action={`${activationPath(activation.id)}/stop`}>
      {postId !== undefined && <input type="hidden" name="post_id" value={postId} />}
      <button type="submit" class="btn" id={`stop-${activation.id}`}>
        Stop {activation.agentName}
      </button>
    </form>
  )
}
