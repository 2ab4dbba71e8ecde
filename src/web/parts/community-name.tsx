import type { FC } from 'hono/jsx'
import type { CommunityRow } from '../../hub/communities/queries'
import { visibilityMarks } from '../../hub/communities/visibility-labels'
import { Icon } from './icons'

export interface CommunityNameProps {
  name: string
  visibility: CommunityRow['visibility']
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
