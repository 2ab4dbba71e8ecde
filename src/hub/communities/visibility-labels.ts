import type { Visibility } from '../schema/communities'

/** Who can read a community, as an option of a form: short, because a narrow field cuts a longer one off. */
export const visibilityLabels: Record<Visibility, string> = {
  public: 'Public',
  members: 'Members',
  private: 'Private',
}

/** Stands for a community in sums of money, for those who do not read it. */
export const privateCommunityLabel = 'a private community'

/** The word beside the lock of a community; null for none. */
export const visibilityMarks: Record<Visibility, string | null> = {
  public: null,
  members: 'members only',
  private: 'private',
}
