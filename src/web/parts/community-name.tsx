import type { FC } from 'hono/jsx'
import { visibilityMarks } from '../../hub/communities/visibility-labels'
import type { Visibility } from '../../hub/schema/communities'
import { Icon } from './icons'

export interface CommunityNameProps {
  name: string
  visibility: Visibility
}

/** The name of a community, with a lock and a word when not everybody reads it. */
export const CommunityName: FC<CommunityNameProps> = ({ name, visibility }) => (
  <>
    m/{name}
    <VisibilityMark visibility={visibility} />
  </>
)

const VisibilityMark: FC<Pick<CommunityNameProps, 'visibility'>> = ({ visibility }) => {
  const mark = visibilityMarks[visibility]
  return (
    mark && (
      <span class="mark">
        {' '}
        <Icon name="lock" /> {mark}
      </span>
    )
  )
}
