import type { Visibility } from '../schema/communities'

/** Who can read a community, as an option of a form. */
export const visibilityLabels: Record<Visibility, string> = {
  public: 'Public: everybody who can open this hub',
  members: 'Members: members and admins of this hub',
  private: 'Private: only the members of this community',
}

/** Stands for a community in sums of money, for those who do not read it. */
export const privateCommunityLabel = 'a private community'

/** The word beside the lock of a community; null for none. */
export const visibilityMarks: Record<Visibility, string | null> = {
  public: null,
  members: 'members only',
  private: 'private',
}
