import type { FC } from 'hono/jsx'
import type { PageViewer } from './frame'
import { activationPath } from './who'

export interface StopFormProps {
  viewer: PageViewer | null
  activation: { id: string; agentName: string }
  /** Names of those who asked for the activation: they and an admin may stop it. */
  askers: readonly string[]
  /** The thread to come back to; without one, the activation's page. */
  postId?: string
}

/** The button that stops an agent at work, for those who may. */
export const StopForm: FC<StopFormProps> = ({ viewer, activation, askers, postId }) => {
  if (!viewer || !(viewer.isAdmin || askers.includes(viewer.name))) return null
  return (
    <form class="stop" method="post" action={`${activationPath(activation.id)}/stop`}>
      {postId !== undefined && <input type="hidden" name="post_id" value={postId} />}
      <button type="submit" class="btn" id={`stop-${activation.id}`}>
        Stop {activation.agentName}
      </button>
    </form>
  )
}
